"""A broker and plain TCP clients on real sockets, in this process."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable

import mqtt5

from zonal.broker import Broker, Limits, Server, Settings, steady_clock
from zonal.broker.access import Access


@contextlib.asynccontextmanager
async def serving(
    limits: Limits | None = None, *, ws: bool = False, access: Access | None = None
) -> AsyncIterator[tuple[Server, int]]:
    clock = steady_clock()
    broker = Broker(Settings(limits=limits or Limits(), sys_interval=0), access=access, now=clock())
    async with Server(broker, clock) as server:
        yield server, await server.listen("127.0.0.1", 0, websocket=ws)


class Wire:
    """A plain TCP client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, port: int, tls: ssl.SSLContext | None = None) -> Wire:
        return cls(*await asyncio.open_connection("127.0.0.1", port, ssl=tls))

    @classmethod
    async def connected(cls, port: int, name: str, pattern: str | None = None) -> Wire:
        wire = await cls.open(port)
        wire.writer.write(mqtt5.ConnectPacket(name, clean_start=True).write())
        assert isinstance(await wire.packet(), mqtt5.ConnAckPacket)
        if pattern is not None:
            wire.writer.write(mqtt5.SubscribePacket(1, [mqtt5.TopicFilter(pattern)]).write())
            assert isinstance(await wire.packet(), mqtt5.SubAckPacket)
        return wire

    async def packet(self) -> mqtt5.Packet:
        async with asyncio.timeout(30):
            head = await self.reader.readexactly(2)
            size, shift = head[1] & 0x7F, 7
            while head[-1] >= 0x80:
                head += await self.reader.readexactly(1)
                size |= (head[-1] & 0x7F) << shift
                shift += 7
            body = await self.reader.readexactly(size)
        packet, _ = mqtt5.read(memoryview(head + body))
        return packet

    async def ended(self) -> bytes:
        async with asyncio.timeout(30):
            return await self.reader.read(-1)


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Waits while the event loop goes on."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the broker under test says nothing of it
            await asyncio.sleep(0.02)

"""What is written to a client: all of it and in order, however little its socket takes at once."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import mqtt5
import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_wire import Wire, serving, until
from zonal.broker import Limits, Server
from zonal.broker.link import ClientLink

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]
BACKLOG = 64 * 1024 * 1024
"""More than any test writes: nothing is dropped."""
UNREAD = 1024 * 1024
"""So much the transport has to keep."""

by_both_loops = pytest.mark.parametrize("loop", LOOPS, ids=["asyncio", "uvloop"])


def link_of(server: Server, name: str) -> ClientLink:
    (link,) = [link for link in server.links if link.connection.client_id == name]
    return link


def narrow(link: ClientLink) -> None:
    """Has the socket take little at once."""
    own = link._transport.get_extra_info("socket")
    own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)


def publication(number: int, size: int) -> bytes:
    return mqtt5.PublishPacket("t", number.to_bytes(4, "big") + b"x" * size).write()


async def numbers(wire: Wire, count: int) -> list[int]:
    """Of the next messages, by what their payloads begin with."""
    seen = []
    for _ in range(count):
        packet = await wire.packet()
        assert isinstance(packet, mqtt5.PublishPacket)
        seen.append(int.from_bytes(packet.payload[:4], "big"))
    return seen


async def fill(link: ClientLink, reader: Wire, writer: Wire, size: int) -> int:
    """Publishes to one who does not read until much waits; how many messages that took."""
    reader.writer.transport.pause_reading()  # type: ignore[attr-defined]
    count = 0
    while link.unsent < UNREAD:
        writer.writer.write(publication(count, size))
        await writer.writer.drain()
        await asyncio.sleep(0)
        count += 1
    return count


@by_both_loops
@settings(max_examples=15, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([0, 100, 5_000, 200_000]), min_size=1, max_size=20),
    pauses=st.sets(st.integers(0, 19)),
)
def test_order_holds_over_short_writes(
    loop: Callable[[], asyncio.AbstractEventLoop], sizes: list[int], pauses: set[int]
) -> None:
    async def exchange() -> None:
        async with serving(Limits(backlog=BACKLOG)) as (server, port):
            reader = await Wire.connected(port, "r", "t")
            narrow(link_of(server, "r"))
            writer = await Wire.connected(port, "w")
            seen = []
            for number, size in enumerate(sizes):
                writer.writer.write(publication(number, size))
                await writer.writer.drain()
                if number in pauses:  # some is read while more is written
                    seen += await numbers(reader, 1)
            seen += await numbers(reader, len(sizes) - len(seen))
            assert seen == list(range(len(sizes)))
            reader.writer.close()
            writer.writer.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(exchange())


@by_both_loops
def test_who_reads_late_gets_what_waited_before_what_is_new(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def exchange() -> None:
        async with serving(Limits(backlog=BACKLOG)) as (server, port):
            reader = await Wire.connected(port, "r", "t")
            link = link_of(server, "r")
            writer = await Wire.connected(port, "w")
            count = await fill(link, reader, writer, 100_000)
            reader.writer.transport.resume_reading()  # type: ignore[attr-defined]
            seen = await numbers(reader, count)
            await until(lambda: link.unsent == 0)
            writer.writer.write(publication(count, 0))
            seen += await numbers(reader, 1)
            assert seen == list(range(count + 1))
            reader.writer.close()
            writer.writer.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(exchange())


@by_both_loops
def test_what_waits_is_written_before_a_connection_ends(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def exchange() -> None:
        async with serving(Limits(backlog=BACKLOG)) as (server, port):
            reader = await Wire.connected(port, "r", "t")
            writer = await Wire.connected(port, "w")
            count = await fill(link_of(server, "r"), reader, writer, 10_000)
            await until(lambda: server.broker.counters.sent == count)
            other = await Wire.connected(port, "r")  # takes the session over
            reader.writer.transport.resume_reading()  # type: ignore[attr-defined]
            assert await numbers(reader, count) == list(range(count))
            told = await reader.packet()
            assert isinstance(told, mqtt5.DisconnectPacket)
            assert int(told.reason_code) == 0x8E
            assert await reader.ended() == b""
            other.writer.close()
            writer.writer.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(exchange())


@by_both_loops
def test_who_is_gone_is_found_out_by_writing_and_no_other_gets_its_bytes(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def exchange() -> None:
        async with serving() as (server, port):
            reader = await Wire.connected(port, "r", "t")
            writer = await Wire.connected(port, "w")
            for number in range(30):
                gone = await Wire.connected(port, f"g{number}", "t")
                gone.writer.transport.abort()
                writer.writer.write(publication(number, 10) * 2)
                fresh = await Wire.connected(port, f"f{number}")  # may get its descriptor
                fresh.writer.write(b"\xc0\0")
                assert isinstance(await fresh.packet(), mqtt5.PingRespPacket)
                fresh.writer.close()
            assert await numbers(reader, 60) == [n for n in range(30) for _ in range(2)]
            await until(lambda: server.broker.counters.connections == 2)
            reader.writer.close()
            writer.writer.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(exchange())

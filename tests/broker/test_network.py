"""The rim: hostile peers on real sockets cost themselves, not the others."""

from __future__ import annotations

import asyncio
import contextlib

import mqtt5
import pytest
from websockets.asyncio.client import connect as websocket
from websockets.exceptions import ConnectionClosed, InvalidStatus

from broker_wire import Wire, serving, until
from zonal.broker import Broker, Limits, Server, Settings, handlers, steady_clock
from zonal.broker.journal import Journal
from zonal.errors import BrokerError


async def test_a_violation_is_answered_on_the_wire_and_then_the_connection_ends() -> None:
    async with serving() as (_, port):
        wire = await Wire.connected(port, "bad")
        wire.writer.write(b"\x00\x00")
        packet = await wire.packet()
        assert isinstance(packet, mqtt5.DisconnectPacket)
        assert int(packet.reason_code) == 0x81
        assert await wire.ended() == b""


async def test_strangers_by_the_hundred_do_not_disturb_a_client() -> None:
    async with serving(Limits(connect_timeout=1.0)) as (server, port):
        reader = await Wire.connected(port, "r", "t")
        strangers = [await Wire.open(port) for _ in range(200)]
        for number, stranger in enumerate(strangers):
            stranger.writer.write(
                [b"", b"\x10", b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 50][number % 4]
            )
        writer = await Wire.connected(port, "w")
        writer.writer.write(mqtt5.PublishPacket("t", b"calm").write())
        packet = await reader.packet()
        assert isinstance(packet, mqtt5.PublishPacket)
        assert packet.payload == b"calm"
        for stranger in strangers:
            with contextlib.suppress(ConnectionResetError):
                assert await stranger.ended() == b""
        assert server.broker.counters.connections == 2


async def test_a_client_that_never_reads_costs_a_bounded_backlog() -> None:
    limits = Limits(backlog=100_000)
    async with serving(limits) as (server, port):
        deaf = await Wire.connected(port, "deaf", "t")
        deaf.writer.transport.pause_reading()  # type: ignore[attr-defined]
        reader = await Wire.connected(port, "r", "t")
        writer = await Wire.connected(port, "w")
        message = mqtt5.PublishPacket("t", b"x" * 10_000).write()
        for _ in range(2000):
            writer.writer.write(message)
            await writer.writer.drain()
            await reader.packet()
        (link,) = [link for link in server.links if link.connection.client_id == "deaf"]
        assert server.broker.counters.dropped > 0
        assert link._transport.get_write_buffer_size() < 1_000_000
        deaf.writer.close()


async def test_publishers_do_not_notice_a_reader_that_just_left() -> None:
    async with serving() as (_, port):
        reader = await Wire.connected(port, "r", "t")
        writer = await Wire.connected(port, "w")
        for number in range(50):
            leaving = await Wire.connected(port, f"l{number}", "t")
            writer.writer.write(mqtt5.PublishPacket("t", str(number).encode()).write() * 3)
            leaving.writer.transport.abort()
        seen = [await reader.packet() for _ in range(150)]
        assert [p.payload for p in seen if isinstance(p, mqtt5.PublishPacket)] == [
            str(number).encode() for number in range(50) for _ in range(3)
        ]


async def test_what_fails_inside_closes_the_connection_that_it_came_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """3.1.1/MQTT-4.8.0-2."""

    def fail(*_: object) -> None:
        raise RuntimeError("as a test wants it")

    async with serving() as (_, port):
        other, wire = await Wire.connected(port, "other"), await Wire.open(port)
        wire.writer.write(b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x00\x00\x01a")
        assert await wire.reader.readexactly(4) == b"\x20\x02\x00\x00"
        monkeypatch.setitem(handlers.HANDLERS, mqtt5.SubscribePacket, fail)
        wire.writer.write(b"\x82\x06\x00\x01\x00\x01t\x00")
        assert await wire.ended() == b""
        other.writer.write(mqtt5.PingReqPacket().write())
        assert isinstance(await other.packet(), mqtt5.PingRespPacket)


async def test_websocket_packets_need_not_fit_frames() -> None:
    """MQTT-6.0.0-2, MQTT-6.0.0-3, MQTT-6.0.0-4.

    3.1.1/MQTT-6.0.0-2, 3.1.1/MQTT-6.0.0-3, 3.1.1/MQTT-6.0.0-4.
    """
    async with serving(ws=True) as (_, port), asyncio.timeout(15):
        url = f"ws://127.0.0.1:{port}/mqtt"
        async with websocket(url, subprotocols=["mqtt"]) as socket:  # type: ignore[list-item]
            assert socket.subprotocol == "mqtt"
            stream = (
                mqtt5.ConnectPacket("ws").write()
                + mqtt5.SubscribePacket(1, [mqtt5.TopicFilter("t")]).write()
                + mqtt5.PublishPacket("t", b"x" * 1000).write()
            )
            for start in range(0, len(stream), 7):
                await socket.send(stream[start : start + 7])
            received = b""
            while len(received) < 1000:
                part = await socket.recv()
                assert isinstance(part, bytes)
                received += part
            assert b"x" * 1000 in received


async def test_websocket_text_frames_close_the_connection() -> None:
    """MQTT-6.0.0-1, 3.1.1/MQTT-6.0.0-1."""
    async with serving(ws=True) as (_, port), asyncio.timeout(15):
        url = f"ws://127.0.0.1:{port}/"
        async with websocket(url, subprotocols=["mqtt"]) as socket:  # type: ignore[list-item]
            await socket.send("hello")
            with pytest.raises(ConnectionClosed):
                await socket.recv()


async def test_a_websocket_stranger_cannot_have_a_large_frame_buffered() -> None:
    async with serving(ws=True) as (_, port), asyncio.timeout(15):
        url = f"ws://127.0.0.1:{port}/"
        async with websocket(url, subprotocols=["mqtt"]) as socket:  # type: ignore[list-item]
            with contextlib.suppress(ConnectionClosed):
                await socket.send(b"\x10" * 1_000_000)
            with pytest.raises(ConnectionClosed):
                await socket.recv()


async def test_closing_the_server_says_goodbye() -> None:
    async with serving() as (server, port):
        wire = await Wire.connected(port, "c")
        await server.close()
        packet = await wire.packet()
        assert isinstance(packet, mqtt5.DisconnectPacket)
        assert int(packet.reason_code) == 0x8B


class FullDisk(Journal):
    """A store that stops working."""

    full = False

    def commit(self) -> None:
        if self.full:
            raise OSError("no space left on device")


async def test_when_the_store_fails_nothing_more_is_acknowledged() -> None:
    clock, disk = steady_clock(), FullDisk()
    broker = Broker(Settings(sys_interval=0), journal=disk, now=clock())
    async with Server(broker, clock) as server:
        port = await server.listen("127.0.0.1", 0)
        wire = await Wire.connected(port, "c")
        disk.full = True
        message = mqtt5.PublishPacket("t", b"", qos=mqtt5.QoS.AT_LEAST_ONCE, packet_id=1)
        wire.writer.write(message.write())
        with contextlib.suppress(ConnectionResetError):
            assert await wire.ended() == b""
        with pytest.raises(BrokerError, match="no space left"):
            await server.failed
        with pytest.raises(OSError):  # noqa: PT011 - whichever way the system refuses
            await Wire.open(port)


async def test_the_reason_arrives_though_the_client_goes_on_sending() -> None:
    async with serving() as (server, port):
        wire = await Wire.connected(port, "bad")
        wire.writer.write(b"\x00\x00" + b"\xc0\0" * 100_000)
        await wire.writer.drain()
        packet = await wire.packet()
        assert isinstance(packet, mqtt5.DisconnectPacket)
        assert await wire.ended() == b""
        assert server.links
        wire.writer.close()
        await until(lambda: not server.links)


async def test_a_closed_connection_does_not_linger_for_ever() -> None:
    async with serving() as (server, port):
        wire = await Wire.connected(port, "bad")
        wire.writer.write(b"\x00\x00")
        await until(lambda: not server.links, 4)


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [("http://localhost:8000", True), ("http://127.0.0.1", True), ("https://evil.example", False)],
)
async def test_pages_of_other_machines_cannot_connect_to_an_open_broker(
    origin: str, allowed: bool
) -> None:
    async with serving(ws=True) as (_, port):
        try:
            url = f"ws://127.0.0.1:{port}"
            async with websocket(url, subprotocols=["mqtt"], origin=origin):  # type: ignore[list-item, arg-type]
                assert allowed
        except InvalidStatus:
            assert not allowed

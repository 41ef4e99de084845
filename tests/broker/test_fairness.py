"""Nobody hurts the others: on real sockets, beside clients that do their worst."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import socket
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import mqtt5
import pytest

from broker_wire import Wire, serving, until
from zonal.broker import Limits, Server, set_password
from zonal.broker.credentials import Credentials, read_passwords
from zonal.broker.link import ClientLink, Hold
from zonal.broker.logins import NICENESS
from zonal.broker.settings import MIB, Rates
from zonal.broker.throttle import (
    BROKEN,
    LONGEST_PAUSE,
    MENDED,
    OF_ADDRESS,
    PAUSE,
    RECOVERY,
    BrokenConnections,
    Throttle,
    neighbourhood,
)
from zonal.broker.turns import Turns

PATIENCE = 6.0
"""Seconds: a bound against collapse; without turns these messages are many seconds late."""


@contextlib.asynccontextmanager
async def attacked(port: int, noise: bytes, name: str = "bad") -> AsyncIterator[Wire]:
    """A client that sends the same bytes again and again, and never reads."""
    wire = await Wire.connected(port, name)

    async def flood() -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                wire.writer.write(noise)
                await wire.writer.drain()

    flooding = asyncio.create_task(flood())
    try:
        yield wire
    finally:
        flooding.cancel()
        wire.writer.transport.abort()


async def slowest(port: int, count: int = 30) -> float:
    """Seconds of the slowest of so many messages between two that behave."""
    reader = await Wire.connected(port, "reader", "fine")
    writer = await Wire.connected(port, "writer")
    worst = 0.0
    for number in range(count):
        began = time.perf_counter()
        writer.writer.write(mqtt5.PublishPacket("fine", b"%d" % number).write())
        got = await reader.packet()
        assert isinstance(got, mqtt5.PublishPacket)
        assert got.payload == b"%d" % number
        worst = max(worst, time.perf_counter() - began)
    return worst


def fence(vertices: int) -> bytes:
    ring = [
        f"{9 + math.cos(2 * math.pi * n / vertices):.6f} {math.sin(2 * math.pi * n / vertices):.6f}"
        for n in range(vertices)
    ]
    text = f"POLYGON (({', '.join([*ring, ring[0]])}))"
    filters = [mqtt5.TopicFilter("f")]
    return mqtt5.SubscribePacket(1, filters, user_properties=[("geofence", text)]).write()


ATTACKS = {
    "PINGREQ": b"\xc0\0" * 100_000,
    "geofences": fence(900) * 20,
    "QoS 0": mqtt5.PublishPacket("flood", b"").write() * 20_000,
    "QoS 1": mqtt5.PublishPacket("flood", b"", qos=mqtt5.QoS.AT_LEAST_ONCE, packet_id=1).write()
    * 20_000,
    "subscriptions": mqtt5.SubscribePacket(1, [mqtt5.TopicFilter("a/+/b/#")]).write() * 5_000,
}


@pytest.mark.parametrize("kind", ATTACKS)
async def test_a_flood_delays_its_sender_alone(kind: str) -> None:
    async with serving() as (_, port), attacked(port, ATTACKS[kind]):
        assert await slowest(port) < PATIENCE


@pytest.fixture
def holds(monkeypatch: pytest.MonkeyPatch) -> list[Hold]:
    """Why clients were not read, as it comes."""
    reasons: list[Hold] = []
    hold = ClientLink.hold

    def noted(link: ClientLink, why: Hold) -> None:
        reasons.append(why)
        hold(link, why)

    monkeypatch.setattr(ClientLink, "hold", noted)
    return reasons


async def test_work_that_serves_nobody_rests_while_others_are_heard(holds: list[Hold]) -> None:
    async with serving() as (server, port), attacked(port, ATTACKS["QoS 0"]):
        counters = server.broker.counters
        before = counters.received
        await until(lambda: counters.received > before + 100_000)
        assert Hold.RESTING not in holds  # nobody else is there
        async with asyncio.timeout(PATIENCE):
            while Hold.RESTING not in holds:
                await slowest(port)


async def test_who_sends_what_others_want_never_rests(holds: list[Hold]) -> None:
    noise = mqtt5.PublishPacket("flood", b"x" * 200).write() * 200
    async with serving(Limits(backlog=1024 * MIB)) as (server, port):
        listener = await Wire.connected(port, "listener", "flood")
        reading = asyncio.create_task(drained(listener))
        async with attacked(port, noise):
            for _ in range(5):
                await slowest(port, 10)
        assert server.broker.counters.sent > 10_000
        assert Hold.RESTING not in holds
        reading.cancel()


async def drained(wire: Wire) -> None:
    """Reads what comes, to the end."""
    while await wire.reader.read(1 << 20):
        pass


async def test_a_flood_over_websocket_delays_its_sender_alone() -> None:
    from websockets.asyncio.client import connect as websocket

    async with serving(ws=True) as (server, port):
        plain = await server.listen("127.0.0.1", 0)
        async with websocket(f"ws://127.0.0.1:{port}", subprotocols=["mqtt"]) as bad:  # type: ignore[list-item]
            await bad.send(mqtt5.ConnectPacket("bad").write())

            async def flood() -> None:
                while True:
                    await bad.send(b"\xc0\0" * 50_000)

            flooding = asyncio.create_task(flood())
            assert await slowest(plain, 15) < PATIENCE
            flooding.cancel()
            bad.transport.abort()


async def test_who_does_not_read_its_answers_is_not_read() -> None:
    limits = Limits(backlog=200_000, unread_answers=100_000)
    async with serving(limits) as (server, port), attacked(port, b"\xc0\0" * 50_000):
        (link,) = [link for link in server.links if link.connection.client_id == "bad"]
        own = link._transport.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
        await until(lambda: link.buffered >= limits.backlog + limits.unread_answers)
        before = server.broker.counters.bytes_received
        await asyncio.sleep(0.3)
        assert server.broker.counters.bytes_received - before < 1_000_000
        assert link.buffered < 2 * MIB


async def test_who_reads_again_is_read_again() -> None:
    limits = Limits(backlog=20_000, unread_answers=10_000)
    count = 300_000
    async with serving(limits) as (_, port):
        wire = await Wire.connected(port, "slow")
        wire.writer.write(b"\xc0\0" * count)
        async with asyncio.timeout(30):
            assert len(await wire.reader.readexactly(2 * count)) == 2 * count


async def test_connections_that_hold_the_most_are_closed_when_all_hold_too_much() -> None:
    async with serving(Limits(buffers=3 * MIB)) as (server, port):
        small = await Wire.connected(port, "small")
        large = []
        for number in range(4):
            wire = await Wire.connected(port, f"large{number}")
            wire.writer.write(b"\x30\x80\x80\x80\x02" + b"x" * MIB)
            large.append(wire)
        await until(lambda: server.broker.counters.overfull >= 1)
        small.writer.write(b"\xc0\0")
        assert isinstance(await small.packet(), mqtt5.PingRespPacket)
        for wire in large:
            wire.writer.transport.abort()


async def test_a_client_that_is_too_fast_is_slowed_and_loses_nothing() -> None:
    async with serving(Limits(client_rates=Rates(messages=200))) as (server, port):
        reader = await Wire.connected(port, "reader", "t")
        writer = await Wire.connected(port, "writer")
        began = time.perf_counter()
        writer.writer.write(mqtt5.PublishPacket("t", b"x").write() * 500)
        for _ in range(500):
            await reader.packet()
        assert time.perf_counter() - began > 0.4
        assert server.broker.counters.slowed > 0


# Credentials


@contextlib.asynccontextmanager
async def guarded(tmp_path: Path) -> AsyncIterator[tuple[Server, int]]:
    file = tmp_path / "users"
    for name in ("alice", "bob"):
        set_password(file, name, b"right")
    async with serving(access=Credentials(read_passwords(file))) as (server, port):
        yield server, port


async def login(port: int, name: str, password: bytes) -> int:
    wire = await Wire.open(port)
    with contextlib.closing(wire.writer):
        wire.writer.write(mqtt5.ConnectPacket(name, username=name, password=password).write())
        packet = await wire.packet()
    assert isinstance(packet, mqtt5.ConnAckPacket)
    return int(packet.reason_code)


async def test_wrong_passwords_by_the_hundred_lock_nobody_out_who_was_in_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check, row_is_full = Credentials.check, threading.Event()

    def checked(credentials: Credentials, name: str, password: bytes, *others: Any) -> Any:
        """However slow the machine is: as soon as too many wait, and then at once."""
        if password == b"right":
            return check(credentials, name, password, *others)
        row_is_full.wait(PATIENCE)
        return None

    def seen(guess: asyncio.Task[int]) -> None:
        if guess.result() == 0x89:
            row_is_full.set()

    monkeypatch.setattr(Credentials, "check", checked)
    monkeypatch.setattr("zonal.broker.throttle.RECOVERY", 600.0)
    async with guarded(tmp_path) as (_, port):
        assert await login(port, "alice", b"right") == 0
        guesses = [asyncio.create_task(login(port, "alice", b"%d" % n)) for n in range(300)]
        for guess in guesses:
            guess.add_done_callback(seen)
        began = time.perf_counter()
        assert await login(port, "alice", b"right") == 0
        assert time.perf_counter() - began < PATIENCE
        codes = await asyncio.gather(*guesses)
        assert set(codes) == {0x86, 0x89, 0x9F}
        assert await login(port, "bob", b"wrong") == 0x9F


async def test_threads_that_check_passwords_give_way_to_those_that_handle_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    check = Credentials.check

    def checked(*given: Any) -> Any:
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return check(*given)

    monkeypatch.setattr(Credentials, "check", checked)
    async with guarded(tmp_path) as (_, port):
        assert await login(port, "alice", b"right") == 0
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    assert seen == [min(19, own + NICENESS)]


def test_an_address_and_a_name_recover_from_wrong_passwords() -> None:
    throttle = Throttle()
    for _ in range(OF_ADDRESS):
        assert throttle.allows("a", "n", 0.0)
        throttle.count("a", "n", 0.0)
    assert not throttle.allows("a", "n", 0.0)
    assert throttle.allows("b", "n", 0.0)
    assert not throttle.allows("a", "m", RECOVERY - 0.1)
    assert throttle.allows("a", "n", RECOVERY + 0.1)


def test_a_name_is_guarded_against_many_addresses() -> None:
    throttle = Throttle()
    for number in range(60):
        throttle.count(f"10.0.0.{number}", "alice", 0.0)
    assert not throttle.allows("10.1.1.1", "alice", 0.0)
    assert throttle.allows("10.1.1.1", "bob", 0.0)


# Connections that are broken again and again


async def broken_connection(port: int) -> None:
    wire = await Wire.connected(port, "broken")
    with contextlib.closing(wire.writer):
        wire.writer.write(b"\x0f\0")
        await wire.ended()


async def test_who_breaks_connections_again_and_again_waits_before_the_next_one_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Turns, "hears_somebody", lambda *_: True)
    async with serving() as (server, port):
        there = await Wire.connected(port, "there", "fine")
        await broken_connection(port)
        assert server.broker.broken._broken.of("127.0.0.1", server.clock()) > 0
        for _ in range(100):  # more than fade while this test runs
            server.broker.broken.count("127.0.0.1", server.clock())
        began = time.monotonic()
        wire = await Wire.open(port)
        wire.writer.write(mqtt5.ConnectPacket("new", clean_start=True).write())
        there.writer.write(mqtt5.PublishPacket("fine", b"at once").write())
        assert isinstance(await there.packet(), mqtt5.PublishPacket)
        assert isinstance(await wire.packet(), mqtt5.ConnAckPacket)
        assert time.monotonic() - began >= LONGEST_PAUSE / 2
        wire.writer.close()
        there.writer.close()


async def test_nobody_waits_for_broken_connections_while_nobody_else_is_heard() -> None:
    async with serving() as (server, port):
        await broken_connection(port)  # heard just now, but gone
        await until(lambda: not server.links)
        for _ in range(BROKEN + 10):
            server.broker.broken.count("127.0.0.1", server.clock())
        wire = await Wire.open(port)
        await until(lambda: len(server.links) == 1)
        assert [link._holds for link in server.links] == [Hold.NOTHING]
        wire.writer.close()


def test_pauses_grow_with_broken_connections_and_fade() -> None:
    broken = BrokenConnections()
    for number in range(BROKEN):
        assert broken.pause("10.0.0.1", 0.0) == 0.0, number
        broken.count("10.0.0.1", 0.0)
    assert broken.pause("10.0.0.1", 0.0) == 0.0
    broken.count("10.0.0.1", 0.0)
    assert broken.pause("10.0.0.1", 0.0) == pytest.approx(PAUSE)
    assert broken.pause("10.0.0.2", 0.0) == 0.0
    assert broken.pause("10.0.0.1", MENDED) == 0.0
    for _ in range(1000):
        broken.count("10.0.0.1", 1.0)
    assert broken.pause("10.0.0.1", 1.0) == LONGEST_PAUSE


@pytest.mark.parametrize(
    ("address", "same"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:2", "2001:db8::/64"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_neighbours_count_as_one(address: str, same: str) -> None:
    assert neighbourhood(address) == same

"""Everything matches: what the geo checks cost where they filter nothing (the paper: +7.7 %).

Two brokers run side by side, one with places and one without, and get the same messages in turn, so
that whatever disturbs the machine disturbs both; which one is asked first changes with each round.
"""

from __future__ import annotations

import asyncio
import statistics
import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import mqtt5
import uvloop

from zonal_lab.geobroker.brokers import Brokers

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal_lab.geobroker.brokers import System

CLIENTS = 100
RATE_HZ = 60.0
SIZE = 256
WORLD = "CIRCLE (9.19 45.46, 3000000)"
PAPER_PERCENT = 7.7
_QOS_0 = mqtt5.QoS.AT_MOST_ONCE
_STAMP = struct.Struct(">d")
_WARM_UP = 0.2
"""The share of a round's first deliveries that is left out."""


@dataclass(frozen=True)
class Overhead:
    """What both brokers did in each round: mean delivery latency and processor time."""

    deliveries: int
    geo_ms: list[float]
    no_geo_ms: list[float]
    geo_cpu_s: list[float]
    no_geo_cpu_s: list[float]

    @property
    def latency_percents(self) -> list[float]:
        """By how much latency is higher with places, of each round."""
        return _percents(self.geo_ms, self.no_geo_ms)

    @property
    def cpu_percents(self) -> list[float]:
        """… and the broker's processor time."""
        return _percents(self.geo_cpu_s, self.no_geo_cpu_s)


def _percents(ours: list[float], base: list[float]) -> list[float]:
    return [100 * mine / other - 100 for mine, other in zip(ours, base, strict=True)]


class Reader(asyncio.Protocol):
    """One client that hears everything and notes how long each message was under way."""

    def __init__(self, connect: bytes, size: int, delays: list[float]) -> None:
        self._connect = connect
        self._size = size
        self._delays = delays
        self._rest = b""
        self._handshake = 2
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connects and subscribes."""
        self.transport = cast("asyncio.Transport", transport)
        self.transport.write(self._connect)

    def data_received(self, data: bytes) -> None:
        """CONNACK and SUBACK, then messages of one size, each with a time stamp."""
        now = time.perf_counter()
        data = self._rest + data
        while self._handshake and len(data) >= 2 and len(data) >= 2 + data[1]:
            data = data[2 + data[1] :]
            self._handshake -= 1
            if not self._handshake:
                self.ready.set_result(None)
        whole, left = divmod(len(data), self._size) if not self._handshake else (0, len(data))
        for number in range(whole):
            (sent,) = _STAMP.unpack_from(data, (number + 1) * self._size - SIZE)
            self._delays.append(now - sent)
        self._rest = data[len(data) - left :] if left else b""


def _place(number: int) -> tuple[str, str]:
    return ("location", f"45.{46420 + number},9.19000")


def _message(number: int) -> bytes:
    payload = _STAMP.pack(time.perf_counter()).ljust(SIZE, b".")
    places = [_place(number), ("geofence", WORLD)]
    return mqtt5.PublishPacket("data", payload, user_properties=places).write()


def _greeting(number: int) -> bytes:
    connect = mqtt5.ConnectPacket(f"c{number}", clean_start=True, user_properties=[_place(number)])
    asked = mqtt5.TopicFilter("data", max_qos=_QOS_0, retain_as_published=False)
    wish = mqtt5.SubscribePacket(1, [asked], user_properties=[("geofence", WORLD)])
    return connect.write() + wish.write()


async def _joined(port: int, delays: list[float]) -> list[Reader]:
    loop = asyncio.get_running_loop()
    size = len(_message(0))
    readers = []
    for number in range(CLIENTS):
        greeting = _greeting(number)
        _, reader = await loop.create_connection(
            lambda greeting=greeting: Reader(greeting, size, delays),  # type: ignore[misc] # its own
            "127.0.0.1",
            port,
        )
        await asyncio.wait_for(reader.ready, 30)
        readers.append(reader)
    return readers


def _move(number: int, turn: int) -> bytes:
    """The client is a little further: whatever was remembered about places is void."""
    place = f"45.{46420 + number},9.{19000 + turn % 1000}"
    return mqtt5.PublishPacket("$zonal/location", place.encode()).write()


async def _round(
    ports: tuple[int, int], seconds: float, *, moving: bool
) -> tuple[list[float], list[float]]:
    """The delays at both brokers, message by message in turn."""
    loop = asyncio.get_running_loop()
    delays: tuple[list[float], list[float]] = ([], [])
    groups = [await _joined(port, each) for port, each in zip(ports, delays, strict=True)]
    start = loop.time()
    for number in range(int(2 * RATE_HZ * seconds)):
        await asyncio.sleep(max(0.0, start + number / (2 * RATE_HZ) - loop.time()))
        turn = number // 2
        sender = turn % CLIENTS
        before = _move(sender, turn) if moving else b""
        groups[number % 2][sender].transport.write(before + _message(sender))
    await asyncio.sleep(0.3)
    for group in groups:
        for reader in group:
            reader.transport.abort()
    first, second = delays
    return first[int(_WARM_UP * len(first)) :], second[int(_WARM_UP * len(second)) :]


def measure_overhead(
    seconds: float,
    rounds: int,
    *,
    moving: bool = False,
    on_round: Callable[[int], None] = lambda _: None,
) -> Overhead:
    """Deliver everything to everybody, with places and without.

    While nobody moves, the broker remembers who gets what from where; `moving` clients update their
    location before each message, so that every check is made anew.
    """
    systems: list[System] = ["geo", "no-geo"]
    means: dict[str, list[float]] = {"geo": [], "no-geo": []}
    cpu: dict[str, list[float]] = {"geo": [], "no-geo": []}
    deliveries = 0
    for number in range(rounds):
        on_round(number)
        order = systems[:: -1 if number % 2 else 1]
        with Brokers(order[0]) as one, Brokers(order[1]) as two:
            started = [brokers.cpu_seconds() for brokers in (one, two)]
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                delays = runner.run(_round((one.ports[0], two.ports[0]), seconds, moving=moving))
            both = zip(order, (one, two), started, delays, strict=True)
            for system, brokers, before, each in both:
                means[system].append(round(statistics.fmean(each) * 1000, 4))
                cpu[system].append(round(brokers.cpu_seconds() - before, 2))
                deliveries += len(each)
    return Overhead(deliveries, means["geo"], means["no-geo"], cpu["geo"], cpu["no-geo"])

"""How long a message takes, plain and location-aware in turn.

One process publishes, another receives, through the same router. Messages of all ways of receiving
follow one another a millisecond apart, so that whatever else the machine does meets all alike.
"""

from __future__ import annotations

import multiprocessing
import statistics
import struct
import threading
import time
from typing import TYPE_CHECKING, Any

import zenoh

import zonal
from zonal.geo import Circle, Point
from zonal.keys import encode_place

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

PLAIN, ITERATED = "plain", "s2 iterated"
WAYS = (PLAIN, "s2", "mgrs", ITERATED)
"""A plain callback, callbacks with places, and a loop over the subscriber."""

_DUOMO = Point(45.4642, 9.19)
_AREA = Circle(_DUOMO, radius_m=2000)
_STAMP = struct.Struct("<q56x")
_GAP_S = 0.001
_WARM_UP = 50
_SPAWN = multiprocessing.get_context("spawn")


def median_latencies_us(endpoint: str, messages: int) -> dict[str, float]:
    """The median of each way, in microseconds, of so many messages each."""
    to_ears, ears_end = _SPAWN.Pipe()
    to_mouth, mouth_end = _SPAWN.Pipe()
    ears = _SPAWN.Process(target=_hear, args=(endpoint, messages, ears_end))
    mouth = _SPAWN.Process(target=_say, args=(endpoint, messages, mouth_end))
    ears.start()
    to_ears.recv()
    mouth.start()
    if not to_ears.poll(120):
        raise TimeoutError(f"not all of {messages} messages of each way arrived in 120 s")
    medians: dict[str, float] = to_ears.recv()
    to_mouth.send("end")
    ears.join()
    mouth.join()
    return medians


def _topic(way: str) -> str:
    return f"bench/latency/{way.replace(' ', '-')}"


def _say(endpoint: str, messages: int, pipe: Connection) -> None:
    config = zonal.config("client", connect=[endpoint])
    block = zenoh.CongestionControl.BLOCK
    with zenoh.open(config) as plain, zonal.open(config) as placed:
        publishers = {PLAIN: plain.declare_publisher(_topic(PLAIN), congestion_control=block)}
        for way in WAYS[1:]:
            publishers[way] = placed.declare_publisher(
                _topic(way), location=_DUOMO, encoding=way.split()[0], congestion_control=block
            )
        start = time.perf_counter()
        for number in range(messages * len(WAYS)):
            wait = start + number * _GAP_S - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            publishers[WAYS[number % len(WAYS)]].put(_STAMP.pack(time.monotonic_ns()))
        pipe.recv()


def _hear(endpoint: str, messages: int, pipe: Connection) -> None:
    took: dict[str, list[int]] = {way: [] for way in WAYS}
    done = threading.Event()

    def taker(way: str) -> Any:
        mine = took[way]

        def take(sample: Any) -> None:
            mine.append(time.monotonic_ns() - _STAMP.unpack(sample.payload.to_bytes())[0])
            if len(mine) == messages and all(len(each) == messages for each in took.values()):
                done.set()

        return take

    config = zonal.config("client", connect=[endpoint])
    with (
        zenoh.open(config) as plain,
        zonal.open(config) as s2,
        zonal.open(config) as mgrs,
        zonal.open(config) as iterated,
    ):
        plain.declare_subscriber(_topic(PLAIN), taker(PLAIN))
        s2.declare_subscriber(_topic("s2"), taker("s2"), area=_AREA)
        mgrs.declare_subscriber(_topic("mgrs"), taker("mgrs"), area=_AREA, encoding="mgrs")
        loop = iterated.declare_subscriber(_topic(ITERATED), area=_AREA)
        thread = threading.Thread(target=lambda: list(map(taker(ITERATED), loop)))
        thread.start()
        _wait_until_heard(endpoint)
        pipe.send("ready")
        done.wait(110)
        loop.undeclare()
        thread.join()
        pipe.send({way: statistics.median(each[_WARM_UP:]) / 1000 for way, each in took.items()})


def _wait_until_heard(endpoint: str) -> None:
    with zonal.open(zonal.config("client", connect=[endpoint])) as probe:
        for way in WAYS:
            places = [""] if way == PLAIN else encode_place(_DUOMO, way.split()[0])
            key = "/".join(filter(None, (_topic(way), str(places[0]))))
            with probe.zenoh.declare_publisher(key) as publisher:
                deadline = time.monotonic() + 20
                while not publisher.matching_status.matching and time.monotonic() < deadline:
                    time.sleep(0.01)

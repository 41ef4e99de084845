"""What a declaration and a publication cost a real router, by how many keys it knows."""

from __future__ import annotations

import contextlib
import random
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import zenoh

from zonal import config
from zonal.geo import Cell, Point, cell_of
from zonal.keys import cell_keys, encode_place, encoding_named
from zonal_lab.emulation import Worker, wait_until
from zonal_lab.systems import cpu_seconds_of, resident_bytes, started_router

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPIC = "scale/air"
_LEVEL = 12
_DECLARERS = 4
"""Processes that share the declaring: one of them is busier than the router."""
_MATCHES = 5000
_ECHOES = 300
_PATIENCE_S = 60.0
_DECLARING_S = 600.0
_REST_S, _RESTING_CPU_S = 0.3, 0.011  # a tick of its processor time: it looks after its sessions


def measure_router(keys: int, seed: int, zenohd: str | None = None) -> dict[str, float]:
    """Declare so many keys at a router, then publish: its own processor time and memory."""
    with started_router(zenohd=zenohd) as (router, endpoint), contextlib.ExitStack() as closing:
        asker = closing.enter_context(zenoh.open(_client(endpoint)))
        declarers = [closing.enter_context(_declarer()) for _ in range(_DECLARERS)]
        chosen = _keys(keys, seed)
        wanted = [chosen[number::_DECLARERS] for number in range(_DECLARERS)]
        begun_bytes, before, begun = (
            resident_bytes(router),
            cpu_seconds_of(router),
            time.monotonic(),
        )
        for declarer in declarers:
            declarer.say({"do": "declare", "endpoint": endpoint, "keys": wanted.pop()})
        for declarer in declarers:
            declarer.hear(_DECLARING_S)
        await_rest(router)
        declared_s = (time.monotonic() - begun - _REST_S) / keys
        declare_cpu = (cpu_seconds_of(router) - before) / keys
        grown = (resident_bytes(router) - begun_bytes) / keys
        _settled(asker, endpoint, closing)
        before = cpu_seconds_of(router)
        rng = random.Random(seed + 1)
        for _ in range(_MATCHES):
            asker.put(_elsewhere(rng), b"x" * 100)
        took = _settled(asker, endpoint, closing)
        return {
            "declare_s": declared_s,
            "declare_cpu_s": declare_cpu,
            "bytes_a_key": grown,
            "match_cpu_s": (cpu_seconds_of(router) - before) / _MATCHES,
            "p50_us": float(np.percentile(took, 50)) * 1e6,
            "p99_us": float(np.percentile(took, 99)) * 1e6,
        }


@contextlib.contextmanager
def _declarer() -> Iterator[Worker]:
    worker = Worker("declarer", [sys.executable, "-m", "zonal_lab.scale.declarer"])
    try:
        worker.ask({"do": "read"}, _PATIENCE_S)  # has started
        yield worker
    finally:
        worker.end()


def _client(endpoint: str) -> zenoh.Config:
    return config("client", connect=[endpoint])


def _keys(count: int, seed: int) -> list[str]:
    """Distinct cells all over the world, as subscribers declare them."""
    rng, encoding = random.Random(seed), encoding_named("s2")
    cells: set[int] = set()
    while len(cells) < count:
        cells.add(cell_of(Point(rng.uniform(-60, 60), rng.uniform(-170, 170)), _LEVEL).id)
    chosen = sorted(cells)
    rng.shuffle(chosen)
    return [key for cell in chosen for key in cell_keys(TOPIC, [Cell(cell)], encoding)]


def _elsewhere(rng: random.Random) -> str:
    """The key of a publication that nobody wants: nobody lives beyond 60° south."""
    place = Point(rng.uniform(-85, -65), rng.uniform(-170, 170))
    (key,) = encode_place(place)
    return f"{TOPIC}/{key.expression}"


def await_rest(*routers: int) -> None:
    """Wait until routers have worked off what they were told: nobody hears when that is so."""
    used = [cpu_seconds_of(each) for each in routers]

    def rest() -> bool:
        nonlocal used
        time.sleep(_REST_S)
        before, used = used, [cpu_seconds_of(each) for each in routers]
        return all(now - old <= _RESTING_CPU_S for old, now in zip(before, used, strict=True))

    wait_until(rest, _DECLARING_S, "the routers do not come to rest")


def _settled(asker: zenoh.Session, endpoint: str, closing: contextlib.ExitStack) -> list[float]:
    """Wait until the router has done all before; then times of messages through it, in seconds."""
    key = f"scale/ready/{time.monotonic_ns()}"
    heard: list[float] = []
    session = closing.enter_context(zenoh.open(_client(endpoint)))
    session.declare_subscriber(key, lambda _: heard.append(time.perf_counter()))

    def reaches() -> bool:
        asker.put(key, b"x")
        return bool(heard)

    wait_until(reaches, _PATIENCE_S, "the router passes nothing on")
    time.sleep(0.2)
    took = []
    for _ in range(_ECHOES):
        heard.clear()
        sent = time.perf_counter()
        asker.put(key, b"x" * 100)
        while not heard and time.perf_counter() - sent < 1:
            time.sleep(0.00005)
        if heard:
            took.append(heard[0] - sent)
    return took

"""Who enters and leaves: circles that are watched, things that move, and events that come of it."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from zonal_lab.emulation import Worker, wait_until
from zonal_lab.peers.programs import tile38
from zonal_lab.peers.resp import RespClient
from zonal_lab.peers.thing_server import SIDE, SOUTH, WEST

if TYPE_CHECKING:
    from zonal_lab.peers.programs import Programs

STEPS = 5
_BATCH = 500
_LAST = "last"
_PATIENCE_S = 240.0

Fence = list[float]
Batches = list[list[list[float]]]


def run_fences(
    system: str, programs: Programs, fences: int, things: int, seed: int
) -> dict[str, float]:
    """Things take steps of some 50 m among fences of 100 to 500 m: costs of a step, and events."""
    rng = np.random.default_rng(seed)
    circles: list[Fence] = [
        [SOUTH + SIDE * lat, WEST + SIDE * lon, 100 + 400 * size]
        for lat, lon, size in rng.random((fences, 3)).tolist()
    ]
    walked = _walk(things, rng)
    run = _tile38 if system == "tile38" else _zonal
    return run(programs, circles, walked)


def _walk(things: int, rng: np.random.Generator) -> list[Batches]:
    """Where everybody is at first, and after each step, in batches."""
    lats, lons = SOUTH + SIDE * rng.random(things), WEST + SIDE * rng.random(things)
    found = []
    for _ in range(STEPS + 1):
        rows = np.column_stack((np.arange(things), lats, lons)).tolist()
        found.append([rows[start : start + _BATCH] for start in range(0, things, _BATCH)])
        lats = lats + rng.normal(0, 3.5e-4, things)
        lons = lons + rng.normal(0, 5e-4, things)
    return found


def _figures(steps: int, cpu_s: float, took_s: float, events: int) -> dict[str, float]:
    return {
        "step_cpu_us": cpu_s / steps * 1e6,
        "step_per_s": steps / took_s,
        "events_a_step": events / steps,
    }


def _zonal(programs: Programs, circles: list[Fence], walked: list[Batches]) -> dict[str, float]:
    """Our border, handed places in batches as a session hands them over; no network."""
    del programs
    worker = Worker("border", [sys.executable, "-m", "zonal_lab.peers.service"])
    try:
        declared = worker.ask({"do": "watch", "fences": circles}, _PATIENCE_S)
        worker.ask({"do": "move", "batches": walked[0]}, _PATIENCE_S)
        moved = [worker.ask({"do": "move", "batches": each}, _PATIENCE_S) for each in walked[1:]]
    finally:
        worker.end()
    steps = STEPS * sum(map(len, walked[0]))
    cpu_s = sum(each["cpu_s"] for each in moved)
    figures = _figures(steps, cpu_s, cpu_s, sum(each["events"] for each in moved))
    return figures | {"fence_cpu_us": declared["cpu_s"] / len(circles) * 1e6}


class _Events:
    """Counts what a subscriber of all channels hears, in a thread of its own."""

    def __init__(self, port: int) -> None:
        self._client = RespClient(port)
        self._client.call("PSUBSCRIBE", "fence/*")
        self._client.send([("SUBSCRIBE", _LAST)])
        self._client.answer()
        self.heard = 0
        self.ended = False
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            kind, *rest = self._client.answer()
            if kind == b"message" and rest[0] == _LAST.encode():
                self.ended = True
                return
            if kind == b"pmessage":
                # One message for an entry or an exit, and with it one that says inside or outside.
                self.heard += any(each in rest[-1] for each in (b'"enter"', b'"exit"'))


def _tile38(programs: Programs, circles: list[Fence], walked: list[Batches]) -> dict[str, float]:
    """A channel for each fence, one subscriber of all; steps are `SET`s, many in a write."""
    with programs.started(tile38) as server:
        client = RespClient(server.port)
        before = server.cpu_s()
        for start in range(0, len(circles), _BATCH):
            client.answers(client.send(
                ("SETCHAN", f"fence/{start + number}", "NEARBY", "city", "FENCE", "DETECT",
                 "enter,exit", "POINT", lat, lon, metres)
                for number, (lat, lon, metres) in enumerate(circles[start : start + _BATCH])
            ))  # fmt: skip
        declared = server.cpu_s() - before
        _step(client, walked[0])
        events = _Events(server.port)
        before, begun = server.cpu_s(), time.perf_counter()
        for each in walked[1:]:
            _step(client, each)
        client.call("PUBLISH", _LAST, "x")
        wait_until(lambda: events.ended, _PATIENCE_S, "not all events arrived")
        took, spent = time.perf_counter() - begun, server.cpu_s() - before
        client.close()
    steps = STEPS * sum(map(len, walked[0]))
    figures = _figures(steps, spent, took, events.heard)
    return figures | {"fence_cpu_us": declared / len(circles) * 1e6}


def _step(client: RespClient, batches: Batches) -> None:
    for batch in batches:
        client.answers(client.send(
            ("SET", "city", f"thing/{int(number)}", "POINT", lat, lon)
            for number, lat, lon in batch
        ))  # fmt: skip

"""The same zones, things and questions for our border and store and for a Tile38 server.

Tile38 (https://tile38.com) keeps everything in memory (`--appendonly no`) and is spoken to over one
connection with many commands at a time; what it notifies of is read from a second one. Figures are
by processor time of the server's process, and by the clock.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import zenoh

import zonal
from now_store import SPAWN, rows_of, running_store
from now_world import SIDE, SOUTH, WEST, Traffic, tell
from zonal.border import Border, BorderPlan
from zonal.geo import Circle, Point
from zonal.store import open_table
from zonal_lab.peers import RespClient, command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing.connection import Connection

    from zonal.border import FenceEvent, ZoneSet

Words: TypeAlias = tuple[object, ...]
"""A command of Tile38's, word by word."""

_KINDS = "enter,exit,cross"
_AT_A_TIME = 500
_QUESTIONS = 200
_RELIABLY: dict[str, Any] = {"congestion_control": zenoh.CongestionControl.BLOCK}


class Tile38:
    """A server of its own on a free port, and a connection to it."""

    def __init__(self, program: str, folder: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        options = ["-h", "127.0.0.1", "-p", str(self._port), "-d", folder, "-q"]
        self._process = subprocess.Popen(
            [program, *options, "--appendonly", "no", "--http-transport", "no"], cwd=folder
        )
        self._connected().close()
        self._client = RespClient(self._port)

    def _connected(self) -> socket.socket:
        deadline = time.monotonic() + 20
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self._port))
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    @property
    def processor_s(self) -> float:
        """What the server has used so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> int:
        """Bytes that it has resident."""
        return int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]) * 4096

    def do(self, commands: Iterable[Words]) -> None:
        """Send many commands, and wait for as many answers."""
        waiting = list(commands)
        for start in range(0, len(waiting), _AT_A_TIME):
            self._client.answers(self._client.send(waiting[start : start + _AT_A_TIME]))

    def ask(self, words: Words) -> int:
        """Send one command, and read its whole answer: how many strings are in it."""
        return _strings(self._client.call(*words))

    def close(self) -> None:
        """End the server."""
        self._client.close()
        self._process.kill()
        self._process.wait()

    @contextlib.contextmanager
    def heard(self) -> Iterator[Heard]:
        """Everything that it notifies of."""
        with self._connected() as connection:
            connection.sendall(command(("PSUBSCRIBE", "*")))
            heard = Heard(connection)
            yield heard
            connection.shutdown(socket.SHUT_RDWR)
            heard.thread.join()


class Heard:
    """Counts what comes on a connection that has subscribed."""

    _MARK = b'"detect":"'

    def __init__(self, connection: socket.socket) -> None:
        self.count = 0
        self._connection = connection
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        kept = b""
        while data := self._connection.recv(1 << 20):
            text = kept + data
            self.count += text.count(self._MARK)
            kept = text[-len(self._MARK) + 1 :]

    def settled(self) -> int:
        """How many there are when no more come."""
        before = -1
        while before != self.count:
            before = self.count
            time.sleep(0.1)
        return before


def _strings(answer: object) -> int:
    if isinstance(answer, list):
        return sum(map(_strings, answer))
    return int(isinstance(answer, bytes))


def _fences(zones: ZoneSet) -> Iterator[Words]:
    for name, area in zones:
        shape: tuple[object, ...]
        if isinstance(area, Circle):
            assert area.center is not None
            shape = ("CIRCLE", area.center.lat, area.center.lon, area.radius_m)
        else:
            shape = ("OBJECT", json.dumps(area.to_geojson()))
        yield ("SETCHAN", name, "WITHIN", "fleet", "FENCE", "DETECT", _KINDS, *shape)


def measure_beside_tile38(
    program: str, zones: ZoneSet, things: int, rounds: int
) -> dict[str, dict[str, Any]]:
    """Fences set up, things that move through them, and questions: ours and theirs by turns."""
    with tempfile.TemporaryDirectory() as folder:
        server = Tile38(program, folder)
        try:
            told = _measure_fences(server, zones, things, rounds)
            tell("tile38: our watcher behind a router")
            told["our_watcher"] = _measure_watcher(zones, things)
            return {**told, **_measure_questions(server, things)}
        finally:
            server.close()


def _measure_fences(
    server: Tile38, zones: ZoneSet, things: int, rounds: int
) -> dict[str, dict[str, Any]]:
    plan = BorderPlan(("enter", "leave", "cross"))
    traffic = Traffic(things, np.random.default_rng(6))
    began = time.process_time()
    border = Border(zones, plan)
    our_setup = time.process_time() - began
    made = list(_fences(zones))
    used, began = server.processor_s, time.monotonic()
    server.do(made)
    their_setup = server.processor_s - used, time.monotonic() - began
    tell(f"tile38: {len(zones):,} fences are there")
    ours, theirs = _Told(), _Told()
    with server.heard() as heard:
        for number in range(rounds + 1):  # the first only says where things are
            if number == 1:
                heard.settled()
                ours, theirs, heard.count = _Told(), _Told(), 0
            steps = traffic.step()
            for places in traffic.noted(steps):
                processor, wall = time.process_time(), time.monotonic()
                ours.events += len(border.update(places))
                ours.processor_s += time.process_time() - processor
                ours.wall_s += time.monotonic() - wall
            sets = [("SET", "fleet", n, "POINT", lat, lon) for n, lat, lon, _ in steps]
            processor, wall = server.processor_s, time.monotonic()
            server.do(sets)
            theirs.wall_s += time.monotonic() - wall
            theirs.events = heard.settled()
            theirs.processor_s += server.processor_s - processor
            tell(f"tile38: round {number} of {rounds}")
    updates = rounds * things
    return {
        "our_border": ours.figures(updates) | {"setup_s_of_a_core": round(our_setup, 2)},
        "tile38_fences": theirs.figures(updates)
        | {"setup_s_of_a_core": round(their_setup[0], 2), "setup_s": round(their_setup[1], 2)},
    }


class _Told:
    """What was told, and what it cost."""

    def __init__(self) -> None:
        self.events = 0
        self.processor_s = self.wall_s = 0.0

    def figures(self, updates: int) -> dict[str, Any]:
        return {
            "events": self.events,
            "events_per_s_of_a_core": round(self.events / self.processor_s),
            "updates_per_s_of_a_core": round(updates / self.processor_s),
            "events_per_s": round(self.events / self.wall_s),
        }


def _watch(endpoint: str, zones: ZoneSet, pipe: Connection) -> None:
    """A process that watches all zones behind a router."""
    told = [0]

    def count(_: FenceEvent) -> None:
        told[0] += 1

    on = ("enter", "leave", "cross")
    with zonal.open(zonal.config("client", connect=[endpoint])) as session:
        fence = session.declare_fence("city/bus/*", zones, count, on=on, resume=False)
        pipe.send(fence.declared_keys)
        while pipe.recv() == "count":
            pipe.send((fence.counters.received, told[0], time.process_time()))


def _measure_watcher(zones: ZoneSet, things: int) -> dict[str, Any]:
    """The same zones and things through a router, as Tile38 has them through a socket."""
    traffic = Traffic(things, np.random.default_rng(6))
    ours, theirs = SPAWN.Pipe()
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        process = SPAWN.Process(target=_watch, args=(router.endpoints[0], zones, theirs))
        process.start()
        (key, *_) = ours.recv()
        with zonal.open(zonal.config("client", connect=router.endpoints)) as session:
            with session.zenoh.declare_publisher(key) as publisher:
                while not publisher.matching_status.matching:
                    time.sleep(0.05)
            time.sleep(1.0)  # the other declarations spread

            def move() -> tuple[int, int, float]:
                for number, lat, lon, _ in traffic.step():
                    place = Point(lat, lon)
                    session.put(traffic.names[number], b"x", location=place, **_RELIABLY)
                counted, before = (0, 0, 0.0), (-1, -1)
                while counted[:2] != before:
                    before = counted[:2]
                    time.sleep(0.5)
                    ours.send("count")
                    counted = ours.recv()
                return counted

            first, second = move(), move()
        ours.send("end")
        process.join()
    received, events = second[0] - first[0], second[1] - first[1]
    spent = second[2] - first[2]
    return {
        "received": received,
        "events": events,
        "events_per_s_of_a_core": round(events / spent),
        "updates_per_s_of_a_core": round(received / spent),
    }


def _measure_questions(server: Tile38, things: int) -> dict[str, dict[str, Any]]:
    """The same questions to Tile38, and through a router to a store, by turns."""
    rng = np.random.default_rng(7)
    lats, lons = SOUTH + rng.random(things) * SIDE, WEST + rng.random(things) * SIDE
    places = list(zip(lats.tolist(), lons.tolist(), strict=True))
    server.do(("SET", "still", n, "POINT", *place) for n, place in enumerate(places))
    # Circles that hold some hundred: there are so many things in a city of 55 by 39 km.
    radius_m = 1000 * math.sqrt(100 / (things / (55.6 * 39.0)) / math.pi)
    ours: dict[str, list[float]] = {"circle": [], "nearest": []}
    theirs: dict[str, list[float]] = {"circle": [], "nearest": []}
    hits: list[tuple[int, int]] = []
    with tempfile.TemporaryDirectory() as folder:
        table = open_table(folder)
        for start in range(0, things, 1000):
            some = slice(start, start + 1000)
            table.write(rows_of(range(start, start + 1000), lats[some], lons[some], 1))
        table.close()
        with running_store(folder) as (session, _):
            tell(f"tile38: {_QUESTIONS} questions to each")
            for _ in range(_QUESTIONS):
                lat, lon = (0.1 + 0.8 * rng.random(2)) * SIDE + (SOUTH, WEST)
                around = Circle(Point(lat, lon), radius_m=radius_m)
                with _taken(ours["circle"]):
                    found = list(session.get("city/bus/*", area=around))
                with _taken(theirs["circle"]):
                    also = server.ask(_within(lat, lon, radius_m))
                hits.append((len(found), also))
                with _taken(ours["nearest"]):
                    near = list(session.get("city/bus/*", nearest=10, to=Point(lat, lon)))
                with _taken(theirs["nearest"]):
                    server.ask(("NEARBY", "still", "LIMIT", 10, "POINT", lat, lon))
                assert len(near) == 10
    told = {
        "our_questions": _medians(ours) | {"hits": sum(mine for mine, _ in hits)},
        "tile38_questions": _medians(theirs) | {"hits": sum(others for _, others in hits)},
    }
    told["tile38_questions"]["memory_mb"] = round(server.memory / 1e6)
    return told


def _within(lat: float, lon: float, radius_m: float) -> Words:
    """All in a circle; the name of each is an answer's second string at the most."""
    circle = ("CIRCLE", lat, lon, radius_m)
    return ("WITHIN", "still", "LIMIT", 100_000, "IDS", *circle)


@contextlib.contextmanager
def _taken(times: list[float]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    times.append(time.perf_counter() - began)


def _medians(times: dict[str, list[float]]) -> dict[str, Any]:
    return {
        f"{name}_median_ms": round(statistics.median(each) * 1000, 3)
        for name, each in times.items()
    }

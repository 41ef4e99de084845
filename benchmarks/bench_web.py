"""The web's figures: REST as a share of a bare ASGI handler, and many event streams on one core.

    python benchmarks/bench_web.py [--quick] [--figure docs/figures/web-bench.png]

Processes, each with its own interpreter: the server alone on one core; load, router, publisher and
queryable on another. Ratios come from one run; the bare handler runs on the same uvicorn settings.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import uvicorn
import uvloop
from rich.console import Console

import zonal
from zonal.geo import Point, destination
from zonal.session import Query, Router
from zonal.web import WebLimits, WebOptions, WebServer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CENTRE = Point(45.4642, 9.19)
TARGET_SHARE, TARGET_P99_MS = 0.3, 250.0
ZONES, RATE = 20, 10.0
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, OTHER_CORE = CORES[0], CORES[-1]
BODY = b'{"pm10": 21.5, "id": "air-01"}'
PLACE = "lat=45.4642&long=9.19"
AREA = f"{PLACE}&shape=circle&r=300"
REQUESTS = {
    "put": f"PUT /bench/put?{PLACE} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    f"content-type: application/json\r\ncontent-length: {len(BODY)}\r\n\r\n".encode()
    + BODY,
    "get": f"GET /bench/get?{AREA} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode(),
}
KINDS = ("put", "get", "get, all different")


def request(kind: str, number: int) -> bytes:
    """What one connection sends: equal questions, or one that nobody else asks."""
    text = REQUESTS[kind.partition(",")[0]]
    return text.replace(b"r=300", b"r=%d" % (300 + number)) if "different" in kind else text


# Processes under test


async def bare(scope: Any, receive: Any, send: Any) -> None:
    """The least that an ASGI application can do: read the body, answer with a few bytes."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    more = True
    while more:
        more = (await receive()).get("more_body", False)
    headers = [(b"content-length", b"2"), (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"[]"})


def serve(kind: str, endpoint: str) -> None:
    """The server's process: `bare` or `zonal`; says its port, ends with its input."""
    os.sched_setaffinity(0, {SERVER_CORE})
    with contextlib.ExitStack() as stack:
        session = stack.enter_context(
            zonal.open(zonal.config("client", connect=[endpoint], scouting=False))
        )
        limits = WebLimits(
            streams=5_000,
            topics_in_metrics=100,
            connections=10_000,
            connections_per_address=10_000,
            streams_per_address=5_000,
            questions_per_address=10_000,
            requests_per_second=0,
        )
        options = WebOptions(port=0, limits=limits)
        server = WebServer(session, options)
        if kind == "bare":
            server.serve_instead(bare)
        server.start()
        stack.callback(server.stop)
        print(server.port, flush=True)
        for _ in sys.stdin:  # each line asks how much of the core was used so far
            print(time.process_time(), flush=True)


def answer_questions(endpoint: str) -> None:
    """The queryable's process; says how many questions it answered when asked."""
    os.sched_setaffinity(0, {OTHER_CORE})
    answered = [0]

    def answer(query: Query) -> None:
        with query:
            query.reply("bench/get", BODY, location=CENTRE, content_encoding="application/json")
            answered[0] += 1

    area = zonal.Circle(CENTRE, radius_m=50)
    with (
        zonal.open(zonal.config("client", connect=[endpoint], scouting=False)) as session,
        session.declare_queryable("bench/get", answer, area=area),
    ):
        print(0, flush=True)  # it has no port
        for _ in sys.stdin:
            print(answered[0], flush=True)


class Served:
    """A process of the benchmark, seen from outside."""

    def __init__(self, running: subprocess.Popen[str]) -> None:
        self._running = running
        self.port = int(self._line())

    def _line(self) -> str:
        assert self._running.stdout is not None
        return self._running.stdout.readline()

    @property
    def cpu_s(self) -> float:
        """Processor time of all its threads so far: what a busy machine hardly disturbs."""
        return self.count

    @property
    def count(self) -> float:
        """The number that the process says when it is asked."""
        assert self._running.stdin is not None
        self._running.stdin.write("\n")
        self._running.stdin.flush()
        return float(self._line())


@contextlib.contextmanager
def process(kind: str, endpoint: str) -> Iterator[Served]:
    command = [sys.executable, __file__, "--serve", kind, "--endpoint", endpoint]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin is not None
        try:
            yield Served(running)
        finally:
            running.stdin.close()
            running.wait(20)


# Load


class Rate(NamedTuple):
    """Answers in a second: by the clock on the wall, and by the server's processor time."""

    wall: float
    cpu: float


class Requester(asyncio.Protocol):
    """One connection that asks again as soon as it was answered."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._data = b""
        self.answers = 0
        self.bad = 0
        self.ended = False

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Count whole answers, and ask again."""
        self._data += data
        head, split, rest = self._data.partition(b"\r\n\r\n")
        if not split:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(rest) < length:
            return
        self.answers += 1
        self.bad += not head.startswith(b"HTTP/1.1 200")
        self._data = rest[length:]
        if not self.ended:
            self._transport.write(self._request)


async def ask(server: Served, kind: str, seconds: float, connections: int = 32) -> Rate:
    """Answers a second, and answers in a second of the server's processor time."""
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(
            lambda number=number: Requester(request(kind, number)), "127.0.0.1", server.port
        )
        for number in range(connections)
    ]
    await asyncio.sleep(seconds / 4)  # warm up
    before, used, started = sum(p.answers for _, p in made), server.cpu_s, time.perf_counter()
    await asyncio.sleep(seconds)
    answers = sum(p.answers for _, p in made) - before
    rate = Rate(answers / (time.perf_counter() - started), answers / (server.cpu_s - used))
    bad = sum(p.bad for _, p in made)
    for transport, protocol in made:
        protocol.ended = True
        transport.close()
    if bad:
        raise RuntimeError(f"{bad} requests were not answered with 200")
    return rate


class Reader(asyncio.Protocol):
    """One event stream; notes how old each event is, and which numbers came."""

    def __init__(self, request: bytes, ages: list[int], ready: asyncio.Semaphore) -> None:
        self._request = request
        self._ages = ages
        self._ready = ready
        self._rest = b""
        self.numbers: list[int] = []

    def connection_made(self, transport: Any) -> None:
        """Ask for the stream."""
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Note each whole event."""
        now = time.monotonic_ns()
        *events, self._rest = (self._rest + data).split(b"\n\n")
        for event in events:
            at = event.find(b'"sent":')
            if at >= 0:
                sent, _, tail = event[at + 7 :].partition(b',"number":')
                self._ages.append(now - int(sent))
                self.numbers.append(int(tail[: tail.find(b"}")]))
            elif b"event: ready" in event:
                self._ready.release()


def publish(session: zonal.Session, places: list[Point], seconds: float, sent: list[int]) -> None:
    """Every zone at its rate, one after the other, evenly spread."""
    due, step = time.monotonic(), 1.0 / (RATE * len(places))
    for number in range(int(seconds * RATE)):
        for zone, place in enumerate(places):
            time.sleep(max(0.0, due - time.monotonic()))
            due += step
            text = json.dumps(
                {"sent": time.monotonic_ns(), "number": number}, separators=(",", ":")
            )
            session.put("bench/live", text, location=place, content_encoding="application/json")
            sent[zone] += 1


async def listen(
    port: int, session: zonal.Session, clients: int, seconds: float
) -> tuple[list[int], int, int]:
    """Ages of all events in nanoseconds, how many were expected, and how many came twice."""
    loop = asyncio.get_running_loop()
    places = [destination(CENTRE, 360 / ZONES * n, 4_000 + 8_000 * (n % 3)) for n in range(ZONES)]
    ages: list[int] = []
    ready = asyncio.Semaphore(0)
    readers: list[Reader] = []
    for number in range(clients):
        place = places[number % ZONES]
        path = f"/bench/live?lat={place.lat}&long={place.lon}&shape=circle&r=200"
        request = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\r\n"
        reader = Reader(request.encode(), ages, ready)
        await loop.create_connection(lambda reader=reader: reader, "127.0.0.1", port)
        readers.append(reader)
    for _ in range(clients):
        await asyncio.wait_for(ready.acquire(), 120)
    await asyncio.to_thread(_wait_for_zones, session, places, readers)
    ages.clear()
    for reader in readers:
        reader.numbers.clear()
    sent = [0] * ZONES
    sender = threading.Thread(target=publish, args=(session, places, seconds, sent))
    sender.start()
    await asyncio.to_thread(sender.join)
    expected = sum(sent[number % ZONES] for number in range(clients))
    deadline = time.monotonic() + 15
    while len(ages) < expected and time.monotonic() < deadline:  # noqa: ASYNC110  (own clock)
        await asyncio.sleep(0.1)
    doubles = sum(len(reader.numbers) - len(set(reader.numbers)) for reader in readers)
    return ages, expected, doubles


def _wait_for_zones(session: zonal.Session, places: list[Point], readers: list[Reader]) -> None:
    """Until a message from each zone reaches its readers: every declaration is known."""
    deadline = time.monotonic() + 60
    while not all(reader.numbers for reader in readers):
        if time.monotonic() > deadline:
            raise RuntimeError("some streams hear nothing")
        for place in places:
            text = json.dumps({"sent": time.monotonic_ns(), "number": -1}, separators=(",", ":"))
            session.put("bench/live", text, location=place, content_encoding="application/json")
        time.sleep(0.5)


# The run


def rest(seconds: float, rounds: int, console: Console) -> dict[str, Any]:
    rates: dict[str, list[Rate]] = {label: [] for name in KINDS for label in (f"bare {name}", name)}
    with Router(["tcp/127.0.0.1:0"]) as router:
        endpoint = router.endpoints[0]
        heard = [0]
        received = router.zenoh.declare_subscriber(
            "bench/put/@s2/**", lambda _: heard.__setitem__(0, heard[0] + 1)
        )
        with (
            process("queryable", endpoint) as answering,
            process("bare", endpoint) as plain,
            process("zonal", endpoint) as served,
        ):
            for number in range(rounds):
                with console.status(f"REST, round {number + 1} of {rounds}"):
                    for name in KINDS:
                        for label, at in ((f"bare {name}", plain), (name, served)):
                            rates[label].append(asyncio.run(ask(at, name, seconds)))
            answered = int(answering.count)
        received.undeclare()
    middle = {
        name: {"wall": _median(rate.wall for rate in found), "cpu": _median(r.cpu for r in found)}
        for name, found in rates.items()
    }
    shares = {
        name: {
            clock: round(
                _median(
                    getattr(mine, clock) / getattr(other, clock)
                    for mine, other in zip(rates[name], rates[f"bare {name}"], strict=True)
                ),
                3,
            )
            for clock in ("wall", "cpu")
        }
        for name in KINDS
    }
    if not heard[0]:
        raise RuntimeError("no published message arrived")
    if not answered:
        raise RuntimeError("no question was answered by the queryable's process")
    return {
        "per_second": middle,
        "share": shares,
        "arrived": heard[0],
        "answered_by_queryable": answered,
    }


def _median(values: Iterable[float]) -> float:
    return statistics.median(list(values))


def streams(clients: int, seconds: float, console: Console) -> tuple[dict[str, Any], np.ndarray]:
    with (
        Router(["tcp/127.0.0.1:0"]) as router,
        zonal.open(zonal.config("client", connect=router.endpoints)) as publisher,
        process("zonal", router.endpoints[0]) as served,
        console.status(f"{clients} streams, {RATE:g} events a second each, {seconds:g} s"),
    ):
        used = served.cpu_s
        ages, expected, doubles = asyncio.run(listen(served.port, publisher, clients, seconds))
        cpu_s = served.cpu_s - used
    found = np.array(ages) / 1e6
    result = {
        "clients": clients,
        "seconds": seconds,
        "expected": expected,
        "received": len(ages),
        "lost": expected - len(ages),
        "doubled": doubles,
        "p50_ms": round(float(np.percentile(found, 50)), 2),
        "p99_ms": round(float(np.percentile(found, 99)), 2),
        "max_ms": round(float(found.max()), 2),
        "server_cpu_s": round(cpu_s, 2),
    }
    return result, found


def draw(path: Path, rates: dict[str, Any], result: dict[str, Any], ages: np.ndarray) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
    for index, name in enumerate(KINDS):
        left.bar(index - 0.2, rates["per_second"][f"bare {name}"]["cpu"], 0.38, color="#b8c4cb")
        bar = left.bar(index + 0.2, rates["per_second"][name]["cpu"], 0.38, color="#0b6e99")
        left.bar_label(bar, [f"{rates['share'][name]['cpu']:.2f}"])
    left.set_xticks(range(3), ["put", "get, equal\nquestions", "get, all\ndifferent"])
    left.set_ylabel("requests in a second of processor time")
    left.margins(y=0.25)
    left.legend(
        ["bare ASGI handler", "Zonal REST (label: share)"],
        ncols=2,
        loc="upper center",
        fontsize="small",
    )
    ordered = np.sort(ages)
    right.plot(ordered, np.linspace(0, 100, len(ordered)), color="#0b6e99")
    right.axhline(99, color="#999", linewidth=0.8)
    right.set_xlim(0, max(result["p99_ms"] * 1.5, 1.0))
    right.axvline(result["p99_ms"], color="#999", linewidth=0.8)
    right.set_xlabel("from put to the reader, ms")
    right.set_ylabel("events, %")
    right.set_title(f"{result['clients']} streams, p99 {result['p99_ms']:.1f} ms", fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="short rounds, few streams")
    parser.add_argument("--clients", type=int, default=1_000)
    parser.add_argument("--figure", type=Path, default=Path("out/figures/web-bench.png"))
    parser.add_argument("--serve", choices=["bare", "zonal", "queryable"], help=argparse.SUPPRESS)
    parser.add_argument("--endpoint", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve == "queryable":
        answer_questions(given.endpoint)
        return
    if given.serve:
        serve(given.serve, given.endpoint)
        return
    os.sched_setaffinity(0, {OTHER_CORE})
    uvloop.install()
    console = Console()
    clients = min(given.clients, 100) if given.quick else given.clients
    rates = rest(*((0.5, 1) if given.quick else (2.0, 3)), console)
    result, ages = streams(clients, 3.0 if given.quick else 20.0, console)
    for name in KINDS:
        share, mine = rates["share"][name], rates["per_second"][name]
        other = rates["per_second"][f"bare {name}"]
        verdict = "reached" if share["cpu"] >= TARGET_SHARE else "missed"
        console.print(
            f"REST {name}: {mine['cpu']:,.0f} in a second of processor time, bare handler "
            f"{other['cpu']:,.0f}: share {share['cpu']:.2f} (target {TARGET_SHARE}: {verdict}); "
            f"by the clock {mine['wall']:,.0f} and {other['wall']:,.0f}: {share['wall']:.2f}"
        )
    fine = result["lost"] == 0 and result["p99_ms"] < TARGET_P99_MS
    console.print(
        f"streams: {result['clients']} clients, {result['received']:,} of {result['expected']:,} "
        f"events, {result['lost']} lost, p50 {result['p50_ms']} ms, p99 {result['p99_ms']} ms "
        f"(target: none lost, below {TARGET_P99_MS:g} ms: {'reached' if fine else 'missed'})"
    )
    draw(given.figure, rates, result, ages)
    console.print(f"picture: {given.figure}")
    print(
        json.dumps(
            {"benchmark": "web", "uvicorn": uvicorn.__version__, "rest": rates, "streams": result}
        )
    )


if __name__ == "__main__":
    main()

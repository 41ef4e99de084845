"""The session against plain zenoh-python through one stock router on loopback.

Callbacks are compared with plain Zenoh's callbacks, loops with its loops.
Publisher, router and subscriber are processes of their own; plain and location-aware rounds take
turns in one run, everyone first as often as the others; the figures are ratios of their medians.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import threading
import time
import timeit
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zenoh
from rich.console import Console

import zonal
from session_latency import ITERATED, WAYS, median_latencies_us
from session_moving import many_moving, moving_through_cells
from session_scale import (
    KEYS_AN_AREA,
    in_child,
    key_at,
    keys_an_area,
    many_topics,
    surplus,
    wait_for_match,
)
from zonal.geo import Circle, Point
from zonal.keys import encode_area, encode_place
from zonal.session import Overflow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

DUOMO = Point(45.4642, 9.19)
AREA = Circle(DUOMO, radius_m=2000)
TOPIC = "bench/air"
PAYLOAD = b"x" * 64
PLAIN_CHANNEL = 2_048
"""Where plain Zenoh's loop is quickest; its own default is 256."""
SPAWN = multiprocessing.get_context("spawn")
PLACED = ("s2", "mgrs")
PLAIN_ITERATED = "plain iterated"
THROUGHPUTS = (*WAYS, PLAIN_ITERATED)

console = Console(highlight=False)


# Processes


def run_router(pipe: Connection) -> None:
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        pipe.send((router.endpoints[0], os.getpid()))
        pipe.recv()


def subscribe(endpoint: str, technique: str, count: int, pipe: Connection) -> None:
    """Receive `count` messages; report the time from the first to the last."""
    encoding, _, iterated = technique.partition(" ")
    receive = _subscribe_by_iterating if iterated else _subscribe_by_callback
    pipe.send(receive(endpoint, encoding, count, pipe))


def _subscribe_by_callback(endpoint: str, technique: str, count: int, pipe: Connection) -> float:
    done, seen, first = threading.Event(), [0], [0.0]

    def take(sample: Any) -> None:
        sample.payload.to_bytes()
        if not seen[0]:
            first[0] = time.perf_counter()
        seen[0] += 1
        if seen[0] == count:
            done.set()

    open_session: Any = zenoh.open if technique == "plain" else zonal.open
    with open_session(zonal.config("client", connect=[endpoint])) as session:
        if technique == "plain":
            session.declare_subscriber(TOPIC, take)
        else:
            session.declare_subscriber(
                TOPIC, take, area=AREA, encoding=technique, overflow=Overflow.BLOCK
            )
        pipe.send("ready")
        done.wait(60)
        return time.perf_counter() - first[0]


def _subscribe_by_iterating(endpoint: str, technique: str, count: int, pipe: Connection) -> float:
    open_session: Any = zenoh.open if technique == "plain" else zonal.open
    with open_session(zonal.config("client", connect=[endpoint])) as session:
        if technique == "plain":
            channel = zenoh.handlers.FifoChannel(PLAIN_CHANNEL)
            subscriber = session.declare_subscriber(TOPIC, channel)
        else:
            subscriber = session.declare_subscriber(
                TOPIC, area=AREA, encoding=technique, overflow=Overflow.BLOCK
            )
        pipe.send("ready")
        first = 0.0
        for number, sample in enumerate(subscriber, 1):
            sample.payload.to_bytes()
            if number == 1:
                first = time.perf_counter()
            if number == count:
                break
        return time.perf_counter() - first


def publish(endpoint: str, technique: str, count: int, pipe: Connection) -> None:
    """Send as fast as the network takes it."""
    block = zenoh.CongestionControl.BLOCK
    open_session: Any = zenoh.open if technique == "plain" else zonal.open
    placed = {} if technique == "plain" else {"location": DUOMO, "encoding": technique}
    with open_session(zonal.config("client", connect=[endpoint])) as session:
        publisher = session.declare_publisher(TOPIC, congestion_control=block, **placed)
        pipe.send("ready")
        pipe.recv()
        for _ in range(count):
            publisher.put(PAYLOAD)
        pipe.send("sent")
        pipe.recv()


def seconds_for(endpoint: str, technique: str, count: int) -> float:
    """One round: seconds from the first to the last message."""
    to_sub, from_main = SPAWN.Pipe()
    to_pub, pub_main = SPAWN.Pipe()
    encoding = technique.split(" ", maxsplit=1)[0]
    sub = SPAWN.Process(target=subscribe, args=(endpoint, technique, count, from_main))
    pub = SPAWN.Process(target=publish, args=(endpoint, encoding, count, pub_main))
    sub.start()
    pub.start()
    to_sub.recv()
    to_pub.recv()
    wait_for_match(endpoint, TOPIC if encoding == "plain" else key_at(TOPIC, DUOMO, encoding))
    to_pub.send("go")
    if not to_sub.poll(120):
        raise TimeoutError(f"{technique}: not all of {count} messages arrived in 120 s")
    seconds: float = to_sub.recv()
    to_pub.recv()
    to_pub.send("end")
    sub.join()
    pub.join()
    return seconds


# Measurements


def compare(endpoint: str, count: int, rounds: int) -> dict[str, float]:
    """Throughput and latency of s2 and mgrs as shares of plain Zenoh's."""
    rates: dict[str, list[float]] = {}
    delays: dict[str, list[float]] = {}
    for number in range(rounds):
        latencies = median_latencies_us(endpoint, 1000)
        # Everyone is first as often as the others: a machine that has rested is faster for a while.
        first = number % len(THROUGHPUTS)
        for technique in (*THROUGHPUTS[first:], *THROUGHPUTS[:first]):
            rates.setdefault(technique, []).append(count / seconds_for(endpoint, technique, count))
            console.print(
                f"  round {number + 1}: {technique:14} {rates[technique][-1]:>9,.0f} msg/s"
            )
        for technique, latency in latencies.items():
            delays.setdefault(technique, []).append(latency)
            console.print(f"  round {number + 1}: {technique:14} median latency {latency:4.0f} µs")
    rate = {name: statistics.median(values) for name, values in rates.items()}
    delay_of = {name: statistics.median(values) for name, values in delays.items()}
    return {
        "plain_msg_s": rate["plain"],
        "plain_iterated_msg_s": rate[PLAIN_ITERATED],
        "plain_latency_us": delay_of["plain"],
        **{f"{t}_throughput_share": rate[t] / rate["plain"] for t in PLACED},
        **{f"{t}_latency_ratio": delay_of[t] / delay_of["plain"] for t in PLACED},
        "iterated_throughput_share": rate[ITERATED] / rate[PLAIN_ITERATED],
        "iterated_throughput_of_callbacks": rate[ITERATED] / rate["plain"],
        "iterated_latency_ratio": delay_of[ITERATED] / delay_of["plain"],
    }


def outside(endpoint: str) -> dict[str, int]:
    """What a subscriber elsewhere receives at its session, before the edge check."""
    config = zonal.config("client", connect=[endpoint])
    with zonal.open(config) as here, zonal.open(config) as there, zonal.open(config) as sender:
        inside = here.declare_subscriber(TOPIC, area=AREA)
        away = there.declare_subscriber(TOPIC, area=Circle(Point(45.58, 9.27), radius_m=2000))
        wait_for_match(endpoint, key_at(TOPIC, DUOMO))
        for _ in range(1000):
            sender.put(TOPIC, PAYLOAD, location=DUOMO)
        for _ in range(1000):
            inside.recv(timeout=10)
        return {
            "inside_received": inside.counters.received,
            "outside_received": away.counters.received,
        }


def costs() -> dict[str, float]:
    """Microseconds to encode a point and to cover a circle, the best of several rounds."""

    def best(work: Any, number: int) -> float:
        return min(timeit.repeat(work, number=number, repeat=7)) / number * 1e6

    return {
        "encode_point_us": best(lambda: encode_place(DUOMO), 2000),
        "encode_point_mgrs_us": best(lambda: encode_place(DUOMO, "mgrs"), 2000),
        "cover_circle_us": best(lambda: encode_area(AREA), 500),
    }


def parts(endpoint: str, pid: int, topics: list[int], *, quick: bool) -> Iterator[dict[str, Any]]:
    """What is measured beside throughput and latency, one after another."""
    yield outside(endpoint)
    yield costs()
    yield moving_through_cells(endpoint, 100 if quick else 500)
    for amid_traffic in (False, True):
        size = (20, 4.0) if quick else (200, 20.0)
        yield many_moving(endpoint, pid, *size, amid_traffic=amid_traffic)
    for encoding in PLACED:
        yield in_child(surplus, endpoint, encoding)
    for most in KEYS_AN_AREA:
        yield in_child(keys_an_area, endpoint, pid, most)
    for number in [100] if quick else topics:
        yield in_child(many_topics, endpoint, number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="messages a throughput round")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--topics", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--quick", action="store_true", help="a short run")
    parser.add_argument("--figure", type=Path, default=Path("out/session-ratios.png"))
    options = parser.parse_args()
    rounds, count = (1, 30_000) if options.quick else (options.rounds, options.count)
    pipe, other = SPAWN.Pipe()
    router = SPAWN.Process(target=run_router, args=(other,))
    router.start()
    endpoint, pid = pipe.recv()
    try:
        console.print(f"Stock router on {endpoint}; 64-byte payloads")
        result: dict[str, float] = dict(compare(endpoint, count, rounds))
        for part in parts(endpoint, pid, options.topics, quick=options.quick):
            console.print("  " + ", ".join(f"{name} {value:,.4g}" for name, value in part.items()))
            result.update(part)
    finally:
        pipe.send("stop")
        router.join()
    for line, holds in verdicts(result):
        console.print(f"  {'holds ' if holds else 'MISSED'}  {line}")
    draw(result, options.figure)
    print(json.dumps({"benchmark": "session", **result}))


def draw(figures: dict[str, float], path: Path) -> None:
    """The ratios as bars, with the limits that were set."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    picture, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2))
    for axes, name, limit, title in (
        (left, "throughput_share", 0.9, "Throughput, share of plain Zenoh"),
        (right, "latency_ratio", 1.08, "Median latency, multiple of plain Zenoh"),
    ):
        values = [1.0, *(figures[f"{technique}_{name}"] for technique in PLACED)]
        bars = axes.bar(["plain", *PLACED], values, color=["#999999", "#1f77b4", "#2ca02c"])
        axes.bar_label(bars, fmt="%.2f")
        axes.axhline(limit, color="#d62728", linestyle="--", linewidth=1)
        axes.set_title(title, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    picture.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=120)


def verdicts(figures: dict[str, float]) -> list[tuple[str, bool]]:
    """The figures that this benchmark is about."""
    at_most = [
        *(
            (f"{t} median latency, of plain", figures[f"{t}_latency_ratio"], 1.08)
            for t in (*PLACED, "iterated")
        ),
        ("s2 surplus", figures["s2_surplus"], 1.4),
        ("mgrs surplus", figures["mgrs_surplus"], 2),
        ("messages received outside the area", figures["outside_received"], 0),
        ("microseconds for a point's key", figures["encode_point_us"], 10),
        ("microseconds for a circle's cover", figures["cover_circle_us"], 100),
        (f"lost on the way through {figures['moving_cells']} cells", figures["moving_lost"], 0),
        ("doubled on that way", figures["moving_doubled"], 0),
        ("seconds to declare 1,000 topics", figures.get("topics_1000_declared_s", 0), 5),
        ("threads with 1,000 topics", figures.get("topics_1000_threads_with_zenohs", 0), 10),
        ("share of a core with 1,000 topics", figures.get("topics_1000_idle_share", 0), 0.01),
    ]
    lines = [
        (f"{what}: {value:.3g} (at most {limit})", value <= limit) for what, value, limit in at_most
    ]
    for technique in (*PLACED, "iterated"):
        share = figures[f"{technique}_throughput_share"]
        lines.append(
            (f"{technique} throughput, of plain: {share:.2f} (at least 0.9)", share >= 0.9)
        )
    return lines


if __name__ == "__main__":
    main()

"""What areas cost and spare: many topics in one session, keys an area, surplus in a city."""

from __future__ import annotations

import math
import multiprocessing
import os
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zenoh

import zonal
from cover_sizes import declared_m2, median_and_90, size_m2
from zonal.geo import Circle, Point, destination
from zonal.keys import encode_place

if TYPE_CHECKING:
    from collections.abc import Iterable
    from multiprocessing.connection import Connection

    from zonal.session import Subscriber

DUOMO = Point(45.4642, 9.19)
KEYS_AN_AREA = (8, 16, 32, 48)
_SPAWN = multiprocessing.get_context("spawn")
_AREAS = 50
_PLACES = 2000


def cpu_seconds(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def in_child(function: Any, *arguments: Any) -> dict[str, float]:
    """What a function reports from a process of its own."""
    pipe, other = _SPAWN.Pipe()
    child = _SPAWN.Process(target=_report, args=(other, function, arguments))
    child.start()
    if not pipe.poll(900):
        raise TimeoutError(f"{function.__name__} did not report in 900 s")
    report: dict[str, float] = pipe.recv()
    child.join()
    return report


def _report(pipe: Connection, function: Any, arguments: tuple[Any, ...]) -> None:
    pipe.send(function(*arguments))


def key_at(topic: str, place: Point, encoding: str = "s2") -> str:
    """What messages of a topic from a place are put under."""
    return f"{topic}/{encode_place(place, encoding)[0]}"


def wait_for_match(endpoint: str, key: str) -> None:
    """Until somebody hears this key; twenty seconds at the most."""
    with (
        zenoh.open(zonal.config("client", connect=[endpoint])) as session,
        session.declare_publisher(key) as probe,
    ):
        deadline = time.monotonic() + 20
        while not probe.matching_status.matching and time.monotonic() < deadline:
            time.sleep(0.01)


def declared_over_wanted(name: str, subscribers: Iterable[Subscriber]) -> dict[str, float]:
    """Of subscribers that are alone on their topics: the median, and 90 %."""
    ratios = [
        declared_m2(each.declared_keys) / size_m2(each.area)
        for each in subscribers
        if each.area is not None
    ]
    median, nine_tenths = median_and_90(ratios)
    return {
        f"{name}_declared_over_wanted": median,
        f"{name}_declared_over_wanted_90": nine_tenths,
    }


def many_topics(endpoint: str, topics: int) -> dict[str, float]:
    """One session with an area on each topic: seconds to declare, threads, share of a core idle."""
    with zonal.open(zonal.config("client", connect=[endpoint])) as session:
        begin, used = time.perf_counter(), time.process_time()
        subscribers = []
        for number in range(topics):
            place = destination(DUOMO, number * 37.0, 10_000 * math.sqrt(number / topics))
            area = Circle(place, radius_m=500)
            subscribers.append(session.declare_subscriber(f"many/{number}", area=area))
        declared, declared_cpu = time.perf_counter() - begin, time.process_time() - used
        keys = sum(len(each.declared_keys) for each in subscribers)
        time.sleep(2)
        begin, used = time.perf_counter(), time.process_time()
        time.sleep(5)
        idle = (time.process_time() - used) / (time.perf_counter() - begin)
        return {
            f"topics_{topics}_declared_s": declared,
            f"topics_{topics}_declared_cpu_s": declared_cpu,
            f"topics_{topics}_keys": keys,
            **declared_over_wanted(f"topics_{topics}", subscribers),
            f"topics_{topics}_threads": threading.active_count() - 1,
            f"topics_{topics}_threads_with_zenohs": len(list(Path("/proc/self/task").iterdir())),
            f"topics_{topics}_idle_share": idle,
        }


def keys_an_area(endpoint: str, router_pid: int, most: int) -> dict[str, float]:
    """Areas of so many keys at the most: what they cost routers, publishers and those who move."""
    budget: Any = sys.modules["zonal.session.key_budget"]
    budget.CELLS_AN_AREA, budget.FIRST_KEYS = most, 1_000_000
    config = zonal.config("client", connect=[endpoint])
    memory, cpu = _memory_mb(router_pid), cpu_seconds(router_pid)
    with zonal.open(config) as near, zonal.open(config) as far:
        begin = time.perf_counter()
        subscribers = [
            far.declare_subscriber(
                f"cost{most}/{number}/air", area=Circle(_spot(number), radius_m=500)
            )
            for number in range(_AREAS // 2)
        ]
        declared = time.perf_counter() - begin
        time.sleep(1)
        figures = {
            "keys": statistics.mean(len(each.declared_keys) for each in subscribers),
            "declare_ms": declared / len(subscribers) * 1e3,
            "router_declare_ms": (cpu_seconds(router_pid) - cpu) / len(subscribers) * 1e3,
            "router_kb": (_memory_mb(router_pid) - memory) / len(subscribers) * 1e3,
            **_put_costs(near, subscribers, router_pid, most),
        }
        for each in subscribers:
            each.undeclare()
    return {
        f"{name}_{most}": value for name, value in {**figures, **_moved(config, router_pid)}.items()
    }


def _spot(number: int) -> Point:
    return destination(DUOMO, number * 37.0, 5_000 * math.sqrt(number / _AREAS))


def _put_costs(sender: Any, subscribers: list[Any], router_pid: int, most: int) -> dict[str, float]:
    """Messages from evenly spread places: microseconds of router and publisher, surplus."""
    pairs = [
        (number, destination(_spot(number), turn * 137.5, 3_000 * math.sqrt(turn / 400)))
        for turn in range(400)
        for number in range(len(subscribers))
    ]
    cpu, begin = cpu_seconds(router_pid), time.perf_counter()
    for number, place in pairs:
        sender.put(
            f"cost{most}/{number}/air",
            b"x" * 64,
            location=place,
            congestion_control=zenoh.CongestionControl.BLOCK,
        )
    sent = time.perf_counter() - begin
    time.sleep(1)
    received = sum(each.counters.received for each in subscribers)
    wanted = received - sum(each.counters.filtered_at_edge for each in subscribers)
    return {
        "put_us": sent / len(pairs) * 1e6,
        "router_put_us": (cpu_seconds(router_pid) - cpu) / len(pairs) * 1e6,
        "surplus": received / wanted,
    }


def _moved(config: zenoh.Config, router_pid: int) -> dict[str, float]:
    """One subscriber with a circle of 2 km moves 10 km in steps of 10 m."""
    where = [DUOMO]
    declared = 0
    with zonal.open(config, position=lambda: where[0], lifetime=3600) as session:
        subscriber = session.declare_subscriber("cost/moved", area=Circle(radius_m=2000))
        cpu, begin = cpu_seconds(router_pid), time.perf_counter()
        for step in range(1000):
            where[0] = destination(DUOMO, 63.0, 10.0 * step)
            before = set(subscriber.declared_keys)
            session.update_position()
            declared += len(set(subscriber.declared_keys) - before)
        took = time.perf_counter() - begin
    return {
        "declarations_per_km": declared / 10,
        "router_ms_per_km": (cpu_seconds(router_pid) - cpu) / 10 * 1e3,
        "mover_ms_per_km": took / 10 * 1e3,
    }


def surplus(endpoint: str, encoding: str) -> dict[str, float]:
    """Received over delivered at a circle of 2 km amid publishers that are spread evenly."""
    config = zonal.config("client", connect=[endpoint])
    with zonal.open(config) as near, zonal.open(config) as far:
        subscribers = [
            far.declare_subscriber(
                f"city/{number}/air", area=Circle(_spot(number), radius_m=2000), encoding=encoding
            )
            for number in range(20)
        ]
        time.sleep(1)
        for number in range(len(subscribers)):
            for turn in range(_PLACES):
                place = destination(_spot(number), turn * 137.5, 8_000 * math.sqrt(turn / _PLACES))
                near.put(f"city/{number}/air", b"x" * 64, location=place, encoding=encoding)
            time.sleep(0.05)
        time.sleep(1)
        received = sum(each.counters.received for each in subscribers)
        inside = received - sum(each.counters.filtered_at_edge for each in subscribers)
        return {
            f"{encoding}_received_of_sent": received / (_PLACES * len(subscribers)),
            f"{encoding}_surplus": received / inside,
            **declared_over_wanted(encoding, subscribers),
        }

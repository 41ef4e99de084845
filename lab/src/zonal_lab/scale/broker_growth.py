"""Our broker, a process of its own, with up to a million subscriptions to areas."""

from __future__ import annotations

import contextlib
import random
import socket
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal.pipeline import distances_m
from zonal.runtime import ChildProcess
from zonal_lab.emulation import wait_until
from zonal_lab.index import scattered_circles
from zonal_lab.scale.mqtt_crowd import Connection, Crowd
from zonal_lab.systems import cpu_seconds_of, free_port, geo_broker_command, resident_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

A_CONNECTION = 1000
"""Subscriptions of one connection."""
_TOPIC = "scale/air"
_DENSITY = 64_000.0  # circles a square degree: some 24 contain a place
PUBLISHED = 1000
"""Publications of which figures are made."""
_WARM = 100
_STARTS_S, _PATIENCE_S = 60.0, 5.0


def measure_broker(size: int) -> dict[str, float]:
    """So many areas, a thousand a connection; then publications, one after another."""
    circles = scattered_circles(size, _DENSITY, seed=size)
    middles = [each.center for each in circles if each.center is not None]
    lats = np.array([round(each.lat, 6) for each in middles])
    lons = np.array([round(each.lon, 6) for each in middles])
    radius_m = round(circles[0].radius_m, 1)
    owners = np.random.default_rng(size).permutation(size) // A_CONNECTION
    filters: list[list[str]] = [[] for _ in range(int(owners.max()) + 1)]
    for owner, lat, lon in zip(owners, lats, lons, strict=True):
        filters[owner].append(f"$geo/circle:{lat:.6f},{lon:.6f},{radius_m}m/{_TOPIC}")
    with started_broker() as (pid, port), contextlib.ExitStack() as closing:
        before, begun = resident_bytes(pid), cpu_seconds_of(pid)
        crowd = Crowd(port, filters)
        closing.callback(crowd.close)
        added, held = cpu_seconds_of(pid) - begun, resident_bytes(pid) - before
        asked = _asked(lats, lons, radius_m, owners)
        publisher = Connection(port, "publisher")
        closing.callback(publisher.socket.close)
        _published(publisher, crowd, asked[:_WARM])
        begun = cpu_seconds_of(pid)
        took, copies = _published(publisher, crowd, asked[_WARM:])
        spent = cpu_seconds_of(pid) - begun
    return {
        "connections": len(filters),
        "add_us": added / size * 1e6,
        "publish_cpu_us": spent / len(took) * 1e6,
        "ask_us": float(np.percentile(took, 50)) * 1e6,
        "ask_p99_us": float(np.percentile(took, 99)) * 1e6,
        "hits": copies / len(took),
        "expected": sum(wanted for _, _, wanted in asked[_WARM:]) / len(took),
        "bytes_each": held / size,
        "memory_bytes": held,
    }


@contextlib.contextmanager
def started_broker() -> Iterator[tuple[int, int]]:
    """Our broker with room for all subscriptions: the number of its process, and its port."""
    port = free_port()
    options = ("--log-level", "error", "--limit", "subscription_bytes=8GiB")
    process = ChildProcess(geo_broker_command("127.0.0.1", port, *options))
    try:
        wait_until(lambda: _listens(port), _STARTS_S, "the broker does not start")
        yield process.pid, port
    finally:
        process.end(grace_s=0)


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def _asked(
    lats: NDArray[Any], lons: NDArray[Any], radius_m: float, owners: NDArray[Any]
) -> list[tuple[float, float, int]]:
    """Places of publications, and how many connections each must reach."""
    source = random.Random(1)
    found = []
    for number in source.choices(range(len(lats)), k=_WARM + PUBLISHED):
        lat, lon = float(lats[number]), float(lons[number])
        near = np.flatnonzero(np.abs(lats - lat) < 0.02)
        inside = near[distances_m(lat, lon, lats[near], lons[near]) <= radius_m]
        found.append((lat, lon, len(set(owners[inside].tolist()))))
    return found


def _published(
    publisher: Connection, crowd: Crowd, asked: list[tuple[float, float, int]]
) -> tuple[list[float], int]:
    """Seconds from each publication to its last copy, and copies of all."""
    took, copies = [], 0
    for lat, lon, wanted in asked:
        begun = time.perf_counter()
        publisher.publish(f"$geo/at:{lat:.6f},{lon:.6f}/{_TOPIC}", b"x" * 100)
        copies += crowd.take(wanted, _PATIENCE_S)
        took.append(time.perf_counter() - begun)
    return took, copies

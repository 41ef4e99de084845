"""The tracks of devices: points cut into stops and trips, with distance and speed.

Stops are the stay points of Li et al., "Mining user similarity based on location history"
(ACM GIS 2008), figure 3: a device that stays within a radius of a point for long enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from zonal.geo import EARTH_RADIUS_M
from zonal.pipeline.schema import UTC_MICROS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

TRACK_SCHEMA = pa.schema(
    [
        ("device", pa.string()),
        ("time", UTC_MICROS),
        ("until", UTC_MICROS),
        ("kind", pa.string()),
        ("points", pa.int64()),
        ("latitude", pa.float64()),
        ("longitude", pa.float64()),
        ("distance_m", pa.float64()),
        ("mean_speed_mps", pa.float64()),
        ("max_speed_mps", pa.float64()),
    ]
)


@dataclass(frozen=True)
class TrackPlan:
    """What counts as a stop, and when a trip is over."""

    stop_radius_m: float = 50.0
    """A stop is a stay within this distance of its first point …"""
    stop_s: float = 120.0
    """… for at least so long."""
    gap_s: float = 900.0
    """A silence of more than this ends stops and trips."""


class Leg(NamedTuple):
    """Points begin <= i < end of one device: a stop or a trip."""

    kind: str
    begin: int
    end: int


class Points(NamedTuple):
    """One device's points in order of time (seconds since 1970; degrees)."""

    seconds: NDArray[np.float64]
    lats: NDArray[np.float64]
    lons: NDArray[np.float64]


def track_of(table: pa.Table, plan: TrackPlan) -> pa.Table:
    """The legs of one device's points (columns device, time, latitude, longitude)."""
    table = table.sort_by("time")
    times = table["time"].cast(UTC_MICROS).to_numpy()
    seconds = times.astype("datetime64[us]").astype(np.int64) / 1e6
    lats, lons = table["latitude"].to_numpy(), table["longitude"].to_numpy()
    points, device = Points(seconds, lats, lons), table["device"][0].as_py()
    steps = distances_m(lats[:-1], lons[:-1], lats[1:], lons[1:])
    rows = [{"device": device, **_row(leg, points, steps)} for leg in legs(points, plan)]
    return pa.Table.from_pylist(rows, schema=TRACK_SCHEMA)


def legs(points: Points, plan: TrackPlan) -> Iterator[Leg]:
    """Cut a device's points into stops and, between them, trips; a long silence ends either."""
    breaks = np.flatnonzero(np.diff(points.seconds) > plan.gap_s) + 1
    for part in np.split(np.arange(len(points.seconds)), breaks):
        if len(part):
            yield from _legs_without_gap(points, plan, part[0], part[-1] + 1)


def _legs_without_gap(points: Points, plan: TrackPlan, begin: int, end: int) -> Iterator[Leg]:
    trip = at = begin
    while at < end:
        stop = _stays_until(points, at, end, plan.stop_radius_m)
        if points.seconds[stop - 1] - points.seconds[at] >= plan.stop_s:
            if trip < at:
                yield Leg("trip", trip, at + 1)  # a trip ends where the stop begins
            yield Leg("stop", at, stop)
            trip = stop - 1 if stop < end else stop
            at = stop
        else:
            at += 1
    if trip < end - 1 or (trip < end and trip == begin):
        yield Leg("trip", trip, end)


def _stays_until(points: Points, at: int, end: int, radius_m: float) -> int:
    """The first point after `at` that is further away than the radius."""
    _, lats, lons = points
    size = 32
    low = at + 1
    while low < end:
        high = min(end, low + size)
        far = distances_m(lats[at], lons[at], lats[low:high], lons[low:high]) > radius_m
        if far.any():
            return int(low + np.argmax(far))
        low, size = high, size * 2
    return end


def distances_m(lat_a: Any, lon_a: Any, lat_b: Any, lon_b: Any) -> NDArray[np.float64]:
    """Great-circle distances between arrays of points in degrees (haversine)."""
    phi_a, phi_b = np.radians(lat_a), np.radians(lat_b)
    half_phi = (phi_b - phi_a) / 2
    half_lambda = np.radians(np.asarray(lon_b) - np.asarray(lon_a)) / 2
    chord = np.sin(half_phi) ** 2 + np.cos(phi_a) * np.cos(phi_b) * np.sin(half_lambda) ** 2
    result: NDArray[np.float64] = 2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(np.minimum(chord, 1.0)))
    return result


def _row(leg: Leg, points: Points, steps: NDArray[np.float64]) -> dict[str, Any]:
    seconds, lats, lons = (each[leg.begin : leg.end] for each in points)
    ways, spans = steps[leg.begin : leg.end - 1], np.diff(seconds)
    duration = seconds[-1] - seconds[0]
    moving = ways[spans > 0] / spans[spans > 0]
    return {
        "time": round(seconds[0] * 1e6),
        "until": round(seconds[-1] * 1e6),
        "kind": leg.kind,
        "points": leg.end - leg.begin,
        "latitude": float(lats.mean() if leg.kind == "stop" else lats[0]),
        "longitude": float(lons.mean() if leg.kind == "stop" else lons[0]),
        "distance_m": float(ways.sum()),
        "mean_speed_mps": float(ways.sum() / duration) if duration > 0 else 0.0,
        "max_speed_mps": float(moving.max(initial=0.0)),
    }

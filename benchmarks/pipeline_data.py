"""Data for the pipeline's benchmark: a fleet in Milano, messages and subscriptions in Beijing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from zonal.geo import Circle, Point
from zonal.pipeline import (
    MESSAGE_SCHEMA,
    Field,
    LogWriter,
    PayloadDeclaration,
    TopicSchema,
    Zones,
    area_to_columns,
    cell_ids,
)

if TYPE_CHECKING:
    from pathlib import Path

START_US = 1_794_700_800_000_000
COMMIT_ROWS = 100_000

DECLARED = PayloadDeclaration(
    (
        TopicSchema(
            "city/airquality/**",
            (Field("pm10", "double", required=True, max=2000), Field("station", "string")),
            "station",
        ),
    )
)


def fleet(count: int, first: int, *, devices: int = 1000, rate: float = 2000.0) -> pa.Table:
    """Air-quality messages of a fleet in Milano, as a recorder writes them."""
    rng = np.random.default_rng(first)
    index = np.arange(first, first + count)
    device = index % devices
    lats, lons = 45.40 + rng.random(count) * 0.13, 9.08 + rng.random(count) * 0.17
    times = START_US + (index * 1e6 / rate).astype(np.int64)
    values = rng.integers(0, 1500, count) / 10
    names = np.array([f"{number:016x}" for number in range(devices)])
    payloads = [
        b'{"pm10":%.1f,"station":"s%d"}' % pair
        for pair in zip(values.tolist(), device.tolist(), strict=True)
    ]
    stamp = pa.timestamp("us", tz="UTC")
    return pa.table(
        {
            "topic": np.where(device % 4 == 0, "city/airquality/fixed", "city/airquality/mobile"),
            "latitude": lats,
            "longitude": lons,
            "geofence": pa.nulls(count, pa.binary()),
            "geofence_radius_m": pa.nulls(count, pa.float64()),
            "cell": cell_ids(lats, lons),
            "payload": pa.array(payloads, pa.binary()),
            "encoding": ["application/json"] * count,
            "kind": ["put"] * count,
            "timestamp": pa.array(times, stamp),
            "ntp64": pa.array(times),
            "clock": names[device],
            "source": names[device],
            "sequence": pa.array(index // devices),
            "received": pa.array(times + 5000, stamp),
        },
        schema=MESSAGE_SCHEMA,
    )


def write_log(folder: Path, rows: int) -> Path:
    """A day of messages, in commits of a recorder's size."""
    with LogWriter(folder) as writer:
        for first in range(0, rows, COMMIT_ROWS):
            writer.append(fleet(min(COMMIT_ROWS, rows - first), first, rate=rows / 86_400))
    return folder


def zones(data: Path | None) -> Zones:
    """The zones in `milano_nil` below the folder of real data; without it, 80 squares."""
    for path in sorted((data / "milano_nil").rglob("*.geojson")) if data else ():
        return Zones.from_file(path)
    grid = [
        shapely.box(9.08 + x / 60, 45.40 + y / 60, 9.08 + (x + 1) / 60, 45.40 + (y + 1) / 60)
        for x in range(10)
        for y in range(8)
    ]
    return Zones(tuple(map(str, range(len(grid)))), tuple(map(shapely.to_wkb, grid)))


def beijing(count: int, seed: int, data: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Places in Beijing: from `geolife` below the folder of real data, else around some centres."""
    rng = np.random.default_rng(seed)
    paths = sorted((data / "geolife").rglob("*.plt")) if data else []
    if paths:
        points = np.concatenate(
            [
                np.loadtxt(path, delimiter=",", skiprows=6, usecols=(0, 1), ndmin=2)
                for path in paths[::4]
            ]
        )
        inside = (np.abs(points[:, 0] - 39.95) < 0.3) & (np.abs(points[:, 1] - 116.38) < 0.4)
        chosen = points[inside][rng.integers(0, inside.sum(), count)]
        lats, lons = chosen.T
    else:
        centres = rng.normal((39.95, 116.38), 0.08, (12, 2))
        lats, lons = centres[rng.integers(0, 12, count)].T
    return lats + rng.normal(0, 0.003, count), lons + rng.normal(0, 0.003, count)


def message_table(count: int, data: Path | None) -> pa.Table:
    lats, lons = beijing(count, 1, data)
    return pa.table(
        {
            "id": np.arange(count),
            "topic": np.where(np.arange(count) % 10 == 0, "bus/42", "city/air"),
            "time": pa.array(START_US + np.arange(count) * 1000, pa.timestamp("us", tz="UTC")),
            "latitude": lats,
            "longitude": lons,
            "cell": cell_ids(lats, lons),
            "geofence": pa.nulls(count, pa.binary()),
            "geofence_radius_m": pa.nulls(count, pa.float64()),
        }
    )


def subscription_table(count: int, data: Path | None, radius_m: float = 1112.0) -> pa.Table:
    lats, lons = beijing(count, 2, data)
    centres = [
        area_to_columns(Circle(Point(float(lat), float(lon)), radius_m=radius_m))[0]
        for lat, lon in zip(lats, lons, strict=True)
    ]
    return pa.table(
        {
            "subscriber": [f"s{number}" for number in range(count)],
            "topic": ["city/**"] * count,
            "area": pa.array(centres, pa.binary()),
            "area_radius_m": np.full(count, radius_m),
            "latitude": lats,
            "longitude": lons,
            "since": pa.nulls(count, pa.timestamp("us", tz="UTC")),
            "until": pa.nulls(count, pa.timestamp("us", tz="UTC")),
        }
    )

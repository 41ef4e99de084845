"""Data for the pipeline's benchmark: a fleet in Milano."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from zonal.pipeline import (
    MESSAGE_SCHEMA,
    Field,
    LogWriter,
    PayloadDeclaration,
    TopicSchema,
    Zones,
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

"""Messages as a recorder would have received them, for tests of the pipeline."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from zonal.pipeline import MESSAGE_SCHEMA, cell_ids

START = datetime(2026, 11, 15, 6, 0, tzinfo=UTC)


def _ntp64(moment: datetime) -> int:
    seconds = int(moment.timestamp())
    return seconds << 32 | (moment.microsecond << 32) // 1_000_000


def make_messages(
    count: int,
    *,
    first: int = 0,
    topic: str = "city/airquality",
    source: str = "a1:1",
    step_s: float = 1.0,
    start: datetime = START,
    **columns: list[Any],
) -> pa.Table:
    """Messages around Milano, one a step, as a recorder would have received them."""
    index = np.arange(first, first + count)
    lats = 45.40 + (index * 7919 % 1000) / 1000 * 0.12
    lons = 9.10 + (index * 104729 % 1000) / 1000 * 0.14
    times = [start + timedelta(seconds=float(i) * step_s) for i in index]
    rows: dict[str, Any] = {
        "topic": [topic] * count,
        "latitude": lats,
        "longitude": lons,
        "geofence": [None] * count,
        "geofence_radius_m": [None] * count,
        "cell": cell_ids(lats, lons),
        "payload": [
            json.dumps({"pm10": int(i) % 100, "device": f"d{i % 5}"}).encode() for i in index
        ],
        "encoding": ["application/json"] * count,
        "kind": ["put"] * count,
        "timestamp": times,
        "ntp64": [_ntp64(moment) for moment in times],
        "clock": ["a1b2"] * count,
        "source": [source] * count,
        "sequence": index.astype(np.int64),
        "received": [moment + timedelta(milliseconds=5) for moment in times],
    }
    return pa.table({**rows, **columns}, schema=MESSAGE_SCHEMA)

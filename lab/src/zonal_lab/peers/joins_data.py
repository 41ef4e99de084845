"""Messages and subscriptions in Beijing, as Parquet that a join of deliveries reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zonal.geo import Circle, Point
from zonal.pipeline import area_to_columns, cell_ids

if TYPE_CHECKING:
    from pathlib import Path

MESSAGES, SUBSCRIPTIONS = "messages.parquet", "subscriptions.parquet"
RADIUS_M = 1112.0
_START_US = 1_794_700_800_000_000


def write_tables(
    folder: Path, *, messages: int, subscriptions: int, geolife: Path | None, seed: int = 1
) -> None:
    """`MESSAGES` and `SUBSCRIPTIONS` in a folder; a tenth of the messages have another topic."""
    table = message_table(messages, geolife, seed)
    # Row groups are what Spark divides between its tasks.
    pq.write_table(table, folder / MESSAGES, row_group_size=max(messages // 10, 1))
    pq.write_table(subscription_table(subscriptions, geolife, seed), folder / SUBSCRIPTIONS)


def message_table(count: int, geolife: Path | None, seed: int = 1) -> pa.Table:
    """Messages with what `deliveries` reads of a log, one a millisecond."""
    lats, lons = _places(count, geolife, 2 * seed - 1)
    return pa.table(
        {
            "id": np.arange(count),
            "topic": np.where(np.arange(count) % 10 == 0, "bus/42", "city/air"),
            "time": pa.array(_START_US + np.arange(count) * 1000, pa.timestamp("us", tz="UTC")),
            "latitude": lats,
            "longitude": lons,
            "cell": cell_ids(lats, lons),
            "geofence": pa.nulls(count, pa.binary()),
            "geofence_radius_m": pa.nulls(count, pa.float64()),
        }
    )


def subscription_table(count: int, geolife: Path | None, seed: int = 1) -> pa.Table:
    """Subscriptions to `city/**` in circles, and their centres for those who know no circles."""
    lats, lons = _places(count, geolife, 2 * seed)
    centres = [
        area_to_columns(Circle(Point(lat, lon), radius_m=RADIUS_M))[0]
        for lat, lon in zip(lats.tolist(), lons.tolist(), strict=True)
    ]
    return pa.table(
        {
            "subscriber": [f"s{number}" for number in range(count)],
            "topic": ["city/**"] * count,
            "area": pa.array(centres, pa.binary()),
            "area_radius_m": np.full(count, RADIUS_M),
            "latitude": lats,
            "longitude": lons,
            "since": pa.nulls(count, pa.timestamp("us", tz="UTC")),
            "until": pa.nulls(count, pa.timestamp("us", tz="UTC")),
        }
    )


def _places(count: int, geolife: Path | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Places near those of Geolife's trajectories in Beijing, else near some centres there."""
    rng = np.random.default_rng(seed)
    paths = sorted(geolife.rglob("*.plt")) if geolife else []
    if paths:
        points = np.concatenate([_points(path) for path in paths[::4]])
        inside = (np.abs(points[:, 0] - 39.95) < 0.3) & (np.abs(points[:, 1] - 116.38) < 0.4)
        chosen = points[inside][rng.integers(0, inside.sum(), count)]
    else:
        centres = rng.normal((39.95, 116.38), 0.08, (12, 2))
        chosen = centres[rng.integers(0, 12, count)]
    lats, lons = (chosen + rng.normal(0, 0.003, (count, 2))).T
    return lats, lons


def _points(path: Path) -> np.ndarray:
    return np.loadtxt(path, delimiter=",", skiprows=6, usecols=(0, 1), ndmin=2)

"""How often a subscriber that moves leaves its margin, from recorded or made-up journeys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from zonal.pipeline import distances_m
from zonal_lab.geobroker import journeys_for

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Track = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]

MARGINS_M = (75, 250, 500, 1250)
"""A quarter of the radius, for radii of 300 m to 5 km."""
_MOST = 300
_GAP_S = 600.0
_POSITIONS = pa_csv.ConvertOptions(
    column_types={"vehicle_id": pa.string(), "timestamp": pa.timestamp("s", tz="UTC")},
    include_columns=["vehicle_id", "timestamp", "latitude", "longitude"],
)


def movement_of(geolife: Path | None, capmetro: Path | None) -> dict[str, dict[str, float]]:
    """For each kind of traveller and margin, how many times an hour it declares anew."""
    kinds: dict[str, list[Track]] = {}
    if geolife is not None:
        kinds["people (Geolife)"] = _geolife(geolife)
    if capmetro is not None:
        kinds["buses (CapMetro)"] = _capmetro(capmetro)
    if not kinds:
        kinds["made-up walks"] = [(way.at_s, way.lats, way.lons) for way in journeys_for(100, None)]
    return {
        name: {str(margin): _an_hour(tracks, margin) for margin in MARGINS_M}
        for name, tracks in kinds.items()
    }


def _an_hour(tracks: list[Track], margin_m: float) -> float:
    """How often somebody under way goes further than the margin from where it last declared."""
    times, seconds = 0, 0.0
    for at_s, lats, lons in tracks:
        gaps = np.diff(at_s)
        seconds += float(gaps[gaps < _GAP_S].sum())
        last = 0
        while True:
            away = distances_m(lats[last], lons[last], lats[last:], lons[last:])
            beyond = np.flatnonzero(away > margin_m)
            if not len(beyond):
                break
            last += int(beyond[0])
            times += 1
    return 3600 * times / max(seconds, 1.0)


def _geolife(folder: Path) -> list[Track]:
    files = sorted(folder.rglob("*.plt"))
    return [_plt(file) for file in files[:: max(len(files) // _MOST, 1)][:_MOST]]


def _plt(file: Path) -> Track:
    rows = np.loadtxt(file, delimiter=",", skiprows=6, usecols=(0, 1, 4), ndmin=2)
    rows = rows[(np.abs(rows[:, 0]) <= 90) & (np.abs(rows[:, 1]) <= 180)]
    return (rows[:, 2] - rows[0, 2]) * 86_400, rows[:, 0], rows[:, 1]


def _capmetro(folder: Path) -> list[Track]:
    tracks: list[Track] = []
    for file in sorted(folder.rglob("*.csv"))[:3]:
        table = pa_csv.read_csv(file, convert_options=_POSITIONS)
        at = table["timestamp"].cast(pa.int64()).to_numpy()
        vehicles = table["vehicle_id"].to_numpy(zero_copy_only=False)
        lats, lons = table["latitude"].to_numpy(), table["longitude"].to_numpy()
        for vehicle in sorted(set(vehicles.tolist())):
            mine = np.flatnonzero(vehicles == vehicle)
            mine = mine[np.argsort(at[mine], kind="stable")]
            tracks.append(((at[mine] - at[mine[0]]).astype(float), lats[mine], lons[mine]))
    return tracks[:_MOST]

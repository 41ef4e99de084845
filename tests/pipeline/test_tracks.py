from __future__ import annotations

from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest

from pipeline_rows import START
from zonal.geo import Point, distance_m
from zonal.pipeline import TrackPlan, distances_m
from zonal.pipeline.tracks import track_of


def points(*legs: tuple[int, float], step_s: float = 10.0) -> pa.Table:
    """Points going north: (how many, metres a step)."""
    lat, lats = 45.0, []
    for count, metres in legs:
        for _ in range(count):
            lats.append(lat)
            lat += metres / 111_195.08
    times = [START + timedelta(seconds=i * step_s) for i in range(len(lats))]
    return pa.table(
        {
            "device": ["d"] * len(lats),
            "time": times,
            "latitude": lats,
            "longitude": [9.0] * len(lats),
        }
    )


def test_distances_agree_with_geo() -> None:
    rng = np.random.default_rng(1)
    lats, lons = rng.uniform(-89, 89, (2, 50)), rng.uniform(-180, 180, (2, 50))
    ours = distances_m(lats[0], lons[0], lats[1], lons[1])
    theirs = [
        distance_m(Point(*a), Point(*b))
        for a, b in zip(
            zip(lats[0], lons[0], strict=True), zip(lats[1], lons[1], strict=True), strict=True
        )
    ]
    assert np.allclose(ours, theirs, atol=1e-3)


def test_a_drive_with_a_stop_is_two_trips_and_the_stop() -> None:
    rows = track_of(points((30, 100), (40, 0), (30, 100)), TrackPlan()).to_pylist()
    assert [row["kind"] for row in rows] == ["trip", "stop", "trip"]
    trip, stop, _ = rows
    assert trip["distance_m"] == pytest.approx(3000, rel=0.02)
    assert trip["mean_speed_mps"] == pytest.approx(10, rel=0.01)
    assert trip["max_speed_mps"] == pytest.approx(10, rel=0.01)
    assert stop["until"] - stop["time"] >= timedelta(seconds=390)
    assert trip["until"] == stop["time"]
    assert sum(row["distance_m"] for row in rows) == pytest.approx(5900)  # 59 steps of 100 m


def test_a_silence_ends_a_trip() -> None:
    first, second = points((20, 100)), points((20, 100))
    later = [moment.as_py() + timedelta(hours=1) for moment in second["time"]]
    both = pa.concat_tables(
        [first, second.set_column(1, "time", pa.array(later, first["time"].type))]
    )
    assert [row["kind"] for row in track_of(both, TrackPlan()).to_pylist()] == ["trip", "trip"]


def test_one_point_is_a_trip_without_distance_and_speed() -> None:
    (row,) = track_of(points((1, 0)), TrackPlan()).to_pylist()
    assert (row["kind"], row["points"], row["distance_m"], row["max_speed_mps"]) == (
        "trip",
        1,
        0,
        0,
    )


def test_points_out_of_order_are_sorted_by_time() -> None:
    table = points((30, 100))
    shuffled = table.take(np.random.default_rng(1).permutation(30))
    assert track_of(shuffled, TrackPlan()).equals(track_of(table, TrackPlan()))

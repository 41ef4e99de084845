from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from zonal.errors import DeclarationError
from zonal.pipeline.jobs import delivery_counts, excess
from zonal_lab.jobs import assign, geolife, gtfs_realtime, use_case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEADER = (
    "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n"
    "0,2,255,My Track,0,0,2,8421376\n0\n"
)
REAL = Path(os.environ.get("ZONAL_DATA", "nowhere")) / "geolife" / "Data"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for user in ("001", "000", "002"):
        trajectory = tmp_path / user / "Trajectory"
        trajectory.mkdir(parents=True)
        for start in ("20081203111734", "20081203120000")[: 1 + (user == "000")]:
            lines = [
                f"39.{900 + step},116.{300 + int(user)},0,92,39785,2008-12-03,11:17:{34 + step}\n"
                for step in range(5)
            ]
            (trajectory / f"{start}.plt").write_text(HEADER + "".join(lines))
    (tmp_path / "002/Trajectory/20081203111734.plt").write_text(
        HEADER + "400.1,116.3,0,92,39785.47,2008-12-03,11:17:34\n"
    )
    return tmp_path


def test_trajectories_are_given_to_clients_by_increasing_identifier(
    spark: SparkSession, folder: Path
) -> None:
    journeys = geolife(spark, folder)
    assert journeys.count() == 15  # the place that is none is left out
    trace = assign(journeys, 2).collect()
    assert [(row.client, row.trajectory, row.step, row.at_s) for row in trace[4:6]] == [
        (0, "000/20081203111734", 4, 4.0),
        (1, "000/20081203120000", 0, 0.0),
    ]
    assert assign(journeys, 2).collect() == trace
    assert {row.at_s for row in assign(journeys, 9, kind="teleport").collect()} == {None}


def test_vehicle_positions_become_a_trajectory_per_vehicle_and_day(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "2016-11-25.csv").write_text(
        "vehicle_id,timestamp,speed,route_id,trip_id,latitude,longitude,trip_headsign\n"
        "8940,2016-11-25T11:53:40-06:00,7.1,1,1,30.42,-97.66,x\n"
        "8941,2016-11-25T11:53:41-06:00,7.1,1,1,30.42,-97.66,x\n"
    )
    rows = gtfs_realtime(spark, tmp_path).orderBy("trajectory").collect()
    assert [row.trajectory for row in rows] == ["8940/2016-11-25", "8941/2016-11-25"]


def test_the_use_case_counts_deliveries_with_and_without_geo(
    spark: SparkSession, folder: Path
) -> None:
    messages, subscriptions = use_case(assign(geolife(spark, folder), 3))
    assert (messages.count(), subscriptions.count()) == (15, 15)
    geo = delivery_counts(messages, subscriptions)
    assert geo.agg({"count": "sum"}).first()[0] > 0
    for row in excess(messages, subscriptions).collect():
        assert 0 < row.geo <= row.no_geo


def test_a_folder_without_trajectories_and_a_file_that_is_none_are_errors(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(DeclarationError, match=r"no \.plt files"):
        geolife(spark, tmp_path)
    (tmp_path / "x.plt").write_text(HEADER + "north,east\n")
    with pytest.raises(Exception, match=r"x\.plt is no Geolife trajectory"):
        geolife(spark, tmp_path).count()


@pytest.mark.skipif(not REAL.is_dir(), reason="ZONAL_DATA names no folder with Geolife")
def test_the_real_trajectories_are_all_read(spark: SparkSession) -> None:
    journeys = geolife(spark, REAL / "001").select("trajectory", "latitude", "longitude")
    assert journeys.count() > 100
    assert journeys.where("latitude is null or abs(latitude) > 90").count() == 0

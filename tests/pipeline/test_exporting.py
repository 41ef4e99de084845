"""Tables for other tools: files, and SQL. The lake here is written without Spark."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
import shapely
from deltalake import write_deltalake
from typer.testing import CliRunner

from pipeline_rows import START, make_messages
from zonal.cli import app
from zonal.errors import DeclarationError, LakeError
from zonal.geo import Circle, Point, distance_m
from zonal.pipeline import Lake, LakeQuery, Selection, export

CENTRE = Point(45.45, 9.15)
AREA = Circle(CENTRE, radius_m=3000)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    rows = make_messages(200, payload=[b'{"pm10": 1}'] * 199 + [b"\xff"])
    rows = rows.append_column("time", rows["timestamp"])
    write_deltalake(str(folder / "silver"), rows)
    write_deltalake(str(folder / "windows"), pa.table({"time": rows["time"], "mean": [1.0] * 200}))
    return folder


def near() -> list[bool]:
    rows = make_messages(200)
    return list(AREA.contains_many(rows["latitude"].to_numpy(), rows["longitude"].to_numpy()))


def test_geoparquet_has_points_and_says_where_they_are(lake: Path, tmp_path: Path) -> None:
    assert 0 < sum(near()) < 200
    count = export(Lake(lake), "silver", tmp_path / "x", "geoparquet", Selection(area=AREA))
    rows = pq.read_table(tmp_path / "x")
    assert count == rows.num_rows == sum(near())
    geo = json.loads(rows.schema.metadata[b"geo"])
    assert geo["columns"][geo["primary_column"]]["encoding"] == "WKB"
    point = shapely.from_wkb(rows["geometry"][0].as_py())
    assert (point.y, point.x) == (rows["latitude"][0].as_py(), rows["longitude"][0].as_py())
    geopandas = pytest.importorskip("geopandas")
    assert len(geopandas.read_parquet(tmp_path / "x")) == count


def test_geojson_and_csv_have_the_rows_of_a_time(lake: Path, tmp_path: Path) -> None:
    wanted = Selection(since=START + timedelta(seconds=190), until=START + timedelta(seconds=205))
    assert export(Lake(lake), "silver", tmp_path / "x.json", "geojson", wanted) == 10
    features = json.loads((tmp_path / "x.json").read_text())["features"]
    assert [one["geometry"]["type"] for one in features] == ["Point"] * 10
    assert features[0]["properties"]["payload"] == '{"pm10": 1}'
    assert features[-1]["properties"]["payload"] == "/w=="  # no text, so Base64
    assert export(Lake(lake), "silver", tmp_path / "x.csv", "csv", wanted) == 10
    assert pa_csv.read_csv(tmp_path / "x.csv")["payload"][0].as_py() == '{"pm10": 1}'


def test_what_cannot_be_exported_is_said(lake: Path, tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="not one of geoparquet, geojson, csv"):
        export(Lake(lake), "silver", tmp_path / "x", "xml", Selection())
    with pytest.raises(DeclarationError, match="has no column latitude"):
        export(Lake(lake), "windows", tmp_path / "x", "csv", Selection(area=AREA))
    with pytest.raises(LakeError, match="has no table tracks"):
        export(Lake(lake), "tracks", tmp_path / "x", "csv", Selection())


def test_sql_knows_tables_areas_and_distances(lake: Path) -> None:
    with LakeQuery(lake) as asked:
        assert asked.tables == ("silver", "windows")
        inside = f"in_area(latitude, longitude, '{AREA.to_wkt()}')"
        (row,) = asked.rows(f"select count(*) as n from silver where {inside}")
        assert row["n"] == sum(near())
        query = "select latitude, longitude, distance_m(latitude, longitude, 45.45, 9.15) as m"
        for row in asked.rows(f"{query} from silver limit 5"):
            exact = distance_m(Point(row["latitude"], row["longitude"]), CENTRE)
            assert row["m"] == pytest.approx(exact, rel=1e-6)
        with pytest.raises(LakeError, match="tables here: silver, windows"):
            asked.ask("select * from gold")
    with pytest.raises(LakeError, match="is no lake"):
        LakeQuery(lake / "nothing")


def test_both_are_commands(lake: Path, tmp_path: Path) -> None:
    area = "circle:45.45,9.15,3km"
    options = ["export", str(lake), "-o", str(tmp_path / "x.csv"), "-f", "csv", "--area", area]
    done = CliRunner().invoke(app, options)
    assert f"{sum(near())} rows of silver in" in done.output
    query = f"select count(*) n from silver where in_area(latitude, longitude, '{area}')"
    done = CliRunner().invoke(app, ["sql", query, str(lake), "--json"])
    assert json.loads(done.output) == {"n": sum(near())}
    assert (
        "200" in CliRunner().invoke(app, ["sql", "select count(*) from windows", str(lake)]).output
    )

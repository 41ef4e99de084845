"""Keys of points and areas as users have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import shapely

from zonal.errors import GeometryError
from zonal.geo import Everywhere, Point, as_area, cell_of
from zonal.keys import (
    area_keys,
    blurred,
    encode_area,
    encode_place,
    encoding_named,
    exact_key,
    fence_expressions,
    following_keys,
    message_keys,
    place_key,
    presence_keys,
    query_keys,
    queryable_keys,
    refine,
)

DUOMO = Point(45.4642, 9.19)
SQUARE = as_area(shapely.box(9, 45, 10, 46))
S2 = encoding_named("s2")

ASKS_OF_A_POINT: list[Callable[[Any], Any]] = [
    *(
        lambda place, name=name: encode_place(place, name)
        for name in ("s2", "mgrs", "bloom", "json")
    ),
    lambda place: message_keys("t", place, None, S2),
    lambda place: place_key("t", place, S2),
    lambda place: exact_key("t", place, 1, S2),
    lambda place: blurred(place, None),
    lambda place: blurred(place, 100.0),
    lambda place: refine(SQUARE, place),
]
ASKS_OF_AN_AREA: list[Callable[[Any], Any]] = [
    *(lambda area, name=name: encode_area(area, name) for name in ("s2", "mgrs", "bloom", "json")),
    lambda area: message_keys("t", DUOMO, area, S2),
    lambda area: area_keys("t", area, S2),
    lambda area: following_keys((), "t", area, area, S2),
    lambda area: presence_keys("t", area, [S2]),
    lambda area: query_keys("t", area, [S2], lambda _: ()),
    lambda area: queryable_keys("t", area, [S2]),
    fence_expressions,
    lambda area: refine(area, DUOMO),
    lambda area: refine(area, (45.4642, 9.19)),
    lambda area: refine(area, cell_of(DUOMO, 12)),
]


@pytest.mark.parametrize("ask", ASKS_OF_A_POINT)
def test_points(ask: Callable[[Any], Any]) -> None:
    for given in ((45.4642, 9.19), shapely.Point(9.19, 45.4642), "POINT (9.19 45.4642)"):
        assert ask(given) == ask(DUOMO)
    for wrong in ("here", 17, (91, 0), SQUARE):
        with pytest.raises(GeometryError):
            ask(wrong)


@pytest.mark.parametrize("ask", ASKS_OF_AN_AREA)
def test_areas(ask: Callable[[Any], Any]) -> None:
    for given in (shapely.box(9, 45, 10, 46), SQUARE.to_geojson(), SQUARE.to_wkt()):
        assert ask(given) == ask(SQUARE)
    for wrong in ("here", 17, DUOMO, shapely.LineString([(0, 0), (1, 1)])):
        with pytest.raises(GeometryError):
            ask(wrong)


def test_none_is_still_no_place_no_fence_and_the_whole_network() -> None:
    assert message_keys("t", None, None, S2) == ("t",)
    assert place_key("t", None, S2) == "t"
    assert query_keys("t", None, [S2], lambda _: ()) == ("t", *area_keys("t", Everywhere(), S2))

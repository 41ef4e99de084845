"""The cells that questions go to: wide and few, and never beside what they ask about."""

from __future__ import annotations

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.geo import Box, Circle, Point, destination
from zonal.keys import Role, encoding_named
from zonal.keys.question import wide_expressions

points = st.builds(
    Point,
    st.floats(-89.0, 89.0, allow_nan=False),
    st.floats(-180.0, 180.0, allow_nan=False),
)
radii = st.floats(1.0, 300_000.0)


@pytest.mark.parametrize("name", ["s2", "mgrs"])
@examples(60)
@given(
    center=points, asked_m=radii, own_m=radii, share=st.floats(0.0, 0.99), bearing=st.floats(0, 359)
)
def test_areas_that_meet_have_expressions_that_meet(
    name: str, center: Point, asked_m: float, own_m: float, share: float, bearing: float
) -> None:
    encoding = encoding_named(name)
    asked = Circle(center, radius_m=asked_m)
    own = Circle(destination(center, bearing, (asked_m + own_m) * share), radius_m=own_m)
    questions = wide_expressions(encoding, asked, Role.GET)
    queryables = wide_expressions(encoding, own, Role.QUERYABLE)
    assert any(
        zenoh.KeyExpr(question).intersects(zenoh.KeyExpr(queryable))
        for question in questions
        for queryable in queryables
    )


@examples(100)
@given(center=points, radius_m=radii)
def test_a_question_goes_to_few_cells(center: Point, radius_m: float) -> None:
    encoding, area = encoding_named("s2"), Circle(center, radius_m=radius_m)
    wide = wide_expressions(encoding, area, Role.GET)
    assert 1 <= len(wide) <= max(4, len(encoding.area_expressions(area, Role.GET)))
    assert len(wide) <= len(encoding.area_expressions(area, Role.GET))


def test_a_town_is_asked_in_one_cell_and_not_in_a_continent() -> None:
    encoding = encoding_named("s2")
    town = Circle(Point(45.4642, 9.19), radius_m=5_000)
    (wide,) = wide_expressions(encoding, town, Role.GET)
    rome, nearby = (
        encoding.place_expressions(place)[0] for place in (Point(41.9, 12.5), Point(45.5, 9.2))
    )
    assert not zenoh.KeyExpr(wide).intersects(zenoh.KeyExpr(rome))
    assert zenoh.KeyExpr(wide).intersects(zenoh.KeyExpr(nearby))
    # Across the equator and the zero meridian, where large cells end, it is still near.
    for expression in wide_expressions(encoding, Box(-0.01, -0.01, 0.01, 0.01), Role.GET):
        assert not zenoh.KeyExpr(expression).intersects(
            zenoh.KeyExpr(encoding.place_expressions(Point(5.0, 5.0))[0])
        )

"""How far the sphere is from the ellipsoid of WGS 84: what the manual states."""

from __future__ import annotations

import math

import numpy as np
import pytest

from zonal.geo import Point, destination

EQUATOR_M, FLATTENING = 6_378_137.0, 1 / 298.257_223_563
ECCENTRICITY_2 = FLATTENING * (2 - FLATTENING)
NORTH, EAST = 0.0, 90.0


def radii_m(lat: float) -> tuple[float, float]:
    """The ellipsoid's radii of curvature: along the meridian, and across it."""
    flat = 1 - ECCENTRICITY_2 * math.sin(math.radians(lat)) ** 2
    across = EQUATOR_M / math.sqrt(flat)
    return across * (1 - ECCENTRICITY_2) / flat, across


def travelled_m(lat: float, bearing: float, length_m: float) -> float:
    """What somebody travels on the ellipsoid who goes so far on the sphere; for short ways."""
    start = Point(lat, 9.0)
    end = destination(start, bearing, length_m)
    middle = (start.lat + end.lat) / 2
    along, across = radii_m(middle)
    north = math.radians(end.lat - start.lat) * along
    east = math.radians(end.lon - start.lon) * across * math.cos(math.radians(middle))
    return math.hypot(north, east)


def test_distances_are_at_most_so_far_off() -> None:
    off = [
        100.0 / travelled_m(lat, bearing, 100.0) - 1
        for lat in np.arange(0.0, 89.9, 0.5)
        for bearing in np.arange(0.0, 360.0, 15.0)
    ]
    assert min(off) == pytest.approx(-0.0045, abs=0.00005)
    assert max(off) == pytest.approx(+0.0056, abs=0.00005)


@pytest.mark.parametrize(
    ("lat", "bearing", "off_m"), [(0.0, NORTH, -5.6), (0.0, EAST, 1.1), (89.98, NORTH, 4.5)]
)
def test_a_circle_of_a_kilometre_ends_where_the_manual_says(
    lat: float, bearing: float, off_m: float
) -> None:
    assert travelled_m(lat, bearing, 1_000.0) - 1_000.0 == pytest.approx(off_m, abs=0.05)

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import zenoh
from hypothesis import given

from places import points
from zonal.errors import LocationKeyError
from zonal.geo import EARTH_RADIUS_M, Box, Circle, Point
from zonal.keys import encode_area, encode_place, match
from zonal.keys.mgrs_grid import (
    area_of_reference,
    path_of_reference,
    reference_of,
    reference_of_path,
)


def references_match(a: str, b: str) -> bool:
    """What routers say of two squares: whether one contains the other."""
    path_a, path_b = (f"@mgrs/{path_of_reference(reference)}/**" for reference in (a, b))
    return zenoh.KeyExpr(path_a).intersects(zenoh.KeyExpr(path_b))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("10SGJ0683244683", "10SGJ0644", True),  # Visotto 2023, figure 5.2a
        ("10SGJ0683244683", "10PGJ0644", False),  # 5.2b
        ("10SGJ0683244683", "10SGJ", True),
        ("10SGJ0683244683", "10S", True),
        ("10SGJ0683244683", "10SGJ0645", False),
        ("1TBK63", "01TBK6387", False),
        ("1TBK63", "01TBK6837", True),  # one digit of zone: the total length is even
        ("10SGJ", "10SGK", False),
    ],
)
def test_the_shorter_reference_contains_the_longer(a: str, b: str, expected: bool) -> None:
    assert references_match(a, b) is expected
    assert references_match(b, a) is expected


def test_digits_become_chunks_of_one_precision_step() -> None:
    assert path_of_reference("32TNR1485334536") == "32T/NR/13/44/85/53/36"
    assert reference_of_path("32T/NR/13/44") == "32TNR1434"


@given(points)
def test_a_reference_contains_itself_at_every_coarser_precision(point: Point) -> None:
    finest = reference_of(point)
    for digits in range(6):
        assert references_match(reference_of(point, digits), finest)


@pytest.mark.parametrize("bad", ["", "32", "32TN", "32TNR1", "32TNR123", "ITNR", "32TNRxx", "🙂"])
def test_a_bad_reference_is_refused_with_examples(bad: str) -> None:
    with pytest.raises(LocationKeyError, match="32TNR14"):
        path_of_reference(bad)


def test_a_square_as_an_area_contains_its_points_and_not_its_neighbours() -> None:
    square = area_of_reference("32TNR13")
    assert reference_of(Point(45.4642, 9.19), 1) == "32TNR13"
    assert square.contains(Point(45.4642, 9.19))
    assert not square.contains(Point(45.6, 9.19))


@pytest.mark.parametrize(
    "point",
    [
        Point(60.5, 4.0),  # zone 32V reaches west over Norway
        Point(75, 20),  # Svalbard has wide zones
        Point(0, 0),
        Point(-0.0001, 6.0),
        Point(84, 10),
        Point(89, 10),
        Point(-80, 5),
        Point(-85, 100),
        Point(45, 180),
        Point(45, -180),
        Point(72, 12),
        Point(56, 3),
    ],
)
def test_odd_zones_bands_and_poles_lose_nobody(point: Point) -> None:
    (sent,) = encode_place(point, "mgrs")
    for radius in (0.5, 30, 3_000, 400_000):
        keys = encode_area(Circle(point, radius_m=radius), "mgrs")
        assert any(match(sent, key) for key in keys)


def test_strips_beside_the_limits_of_the_grid_lose_nobody() -> None:
    for area, point in (
        (Box(-85, 0, -80.000001, 10), Point(-80.000005, 5)),
        (Box(84.000001, 0, 85, 10), Point(84.000005, 5)),
        (Box(-0.00002, -11, -0.000001, -10.9), Point(-0.000001, -10.95)),
    ):
        (sent,) = encode_place(point, "mgrs")
        assert any(match(sent, key) for key in encode_area(area, "mgrs"))


def test_squares_south_of_the_equator_decode() -> None:
    for key in encode_area(Box(-0.02, -11, 0, -10.99), "mgrs"):
        key.decode()


@pytest.mark.parametrize("zone", ["32X", "34X", "36X"])
def test_zones_that_are_on_no_map_are_refused(zone: str) -> None:
    with pytest.raises(LocationKeyError, match="no zone"):
        path_of_reference(f"{zone}NR12")


def test_covers_of_circles_fit_and_miss_nobody() -> None:
    source = random.Random(1)
    ratios = []
    for _ in range(200):
        center = Point(source.uniform(-75, 75), source.uniform(-180, 180))
        radius_m = math.exp(source.uniform(math.log(100), math.log(50_000)))
        keys = encode_area(Circle(center, radius_m=radius_m), "mgrs")
        declared = sum(_size_m2(str(key)) for key in keys)
        ratios.append(declared / (math.pi * radius_m**2))
        for bearing in range(0, 360, 30):
            turn = math.radians(bearing)
            north = math.degrees(0.99 * radius_m / EARTH_RADIUS_M) * math.cos(turn)
            east = math.degrees(0.99 * radius_m / EARTH_RADIUS_M) * math.sin(turn)
            lon = center.lon + east / math.cos(math.radians(center.lat))
            rim = Point(center.lat + north, (lon + 180) % 360 - 180)
            if Circle(center, radius_m=radius_m).contains(rim):
                (sent,) = encode_place(rim, "mgrs")
                assert any(match(sent, key) for key in keys)
    assert np.median(ratios) <= 1.5
    assert np.quantile(ratios, 0.9) <= 2.0


def test_covers_of_boxes_fit_though_all_their_columns_are_alike() -> None:
    source = random.Random(1)
    ratios = []
    for _ in range(100):
        height = math.degrees(math.exp(source.uniform(math.log(500), math.log(50_000))))
        height, lat = height / EARTH_RADIUS_M, source.uniform(-75, 75)
        width = height * math.exp(source.uniform(-1.2, 1.2)) / math.cos(math.radians(lat))
        west = source.uniform(-180, 179 - width)
        keys = encode_area(Box(lat, west, lat + height, west + width), "mgrs")
        wanted_m2 = math.radians(height) * math.radians(width) * EARTH_RADIUS_M**2
        declared = sum(_size_m2(str(key)) for key in keys)
        ratios.append(declared / (wanted_m2 * math.cos(math.radians(lat + height / 2))))
    assert np.median(ratios) <= 1.5
    assert np.quantile(ratios, 0.9) <= 2.0


def _size_m2(key: str) -> float:
    """The area of a square, or of a column of ten; of a whole zone, a lot."""
    pairs = key.count("/") - 3
    return (1e5 / 10**pairs) ** 2 * (10 if "$*" in key else 1) if pairs >= 0 else 1e12

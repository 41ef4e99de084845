from __future__ import annotations

import pytest
import zenoh
from hypothesis import given

from places import points
from zonal.errors import LocationKeyError
from zonal.geo import Circle, Point
from zonal.keys import encode_area, encode_place
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
        keys = [str(key) for key in encode_area(Circle(point, radius_m=radius), "mgrs")]
        assert any(str(sent).startswith(key.removesuffix("**")) for key in keys)

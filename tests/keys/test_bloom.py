from __future__ import annotations

import hashlib

import pytest

from zonal.errors import EncodingError, LocationKeyError
from zonal.geo import Box, Circle, Grid, GridCell, Point
from zonal.keys import BloomDomain, BloomEncoding, LocationKey, Role, encode_area
from zonal.keys.bloom import filters_match

# Visotto 2023, 7.8: a domain of 5 × 5 units in fields of half a unit, and subscribers
# that expect 6, 6, 4, 4, 1 and 3 messages. Only S9's range is printed (1.5–2.5, 2.5–3.5); the
# others are laid out so that they need as many fields. Fields contain their southern and western
# edges, so ranges end a hair before the next field.
HAIR = 1e-6
GRID = Grid(Box(0.0, 0.0, 5.0, 5.0), rows=10, columns=10)
SUBSCRIBERS = {
    "S6": (Box(0.0, 0.0, 1.0 - HAIR, 1.5 - HAIR), 6),
    "S7": (Box(3.5, 0.5, 5.0 - HAIR, 1.5 - HAIR), 6),
    "S8": (Box(0.5, 3.5, 1.5 - HAIR, 4.5 - HAIR), 4),
    "S9": (Box(1.5, 2.5, 2.5 - HAIR, 3.5 - HAIR), 4),
    "S10": (Box(2.0, 0.0, 2.5 - HAIR, 0.5 - HAIR), 1),
    "S11": (Box(4.0, 3.0, 4.5 - HAIR, 4.5 - HAIR), 3),
}


def domain_at(probability: float) -> BloomDomain:
    return BloomDomain(f"thesis-{probability:g}", GRID, probability)


@pytest.mark.parametrize(("probability", "bits"), [(0.25, 320), (0.01, 960)])
def test_a_filter_has_the_size_that_the_thesis_states(probability: float, bits: int) -> None:
    assert domain_at(probability).bits == bits


@pytest.mark.parametrize("probability", [0.01, 0.1, 0.2, 0.25, 0.3, 0.4])
def test_the_expected_messages_arrive_and_false_positives_stay_within_the_bound(
    probability: float,
) -> None:
    encoding = BloomEncoding(domain_at(probability))
    false_positives = trials = 0
    for area, expected in SUBSCRIBERS.values():
        subscriber = LocationKey(
            encoding.area_expressions(area, Role.SUBSCRIBER)[0], Role.SUBSCRIBER
        )
        exact = encoding.filter_of_area(area)
        received = 0
        for row in range(10):
            for column in range(10):
                middle = Point(row * 0.5 + 0.25, column * 0.5 + 0.25)
                element = encoding.domain.filter_of([GRID.cell_of(middle)])
                (key,) = encoding.place_expressions(middle)
                passed = filters_match(exact, element)
                # What the router lets through contains what the filter accepts.
                assert encoding.match(LocationKey(key, Role.PUBLISHER), subscriber) or not passed
                received += passed and area.contains(middle)
                false_positives += passed and not area.contains(middle)
                trials += not area.contains(middle)
        assert received == expected
    # A filter with few of its n elements has a far lower rate than p, so p itself is the bound.
    assert false_positives / trials <= probability


def test_the_hash_is_the_documented_one() -> None:
    domain = domain_at(0.25)
    digest = hashlib.sha256(b"7-4").digest()
    start, step = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:16], "big") | 1
    expected = {(start + number * step) % 320 for number in range(3)}
    element = domain.filter_of([GridCell(row=4, column=7)])
    assert {bit for bit in range(320) if element >> (319 - bit) & 1} == expected


def test_the_thesis_example_of_the_bitwise_match() -> None:
    assert filters_match(0b01011010, 0b00010010)
    assert not filters_match(0b01011010, 0b00010011)


def test_publishing_outside_the_domain_says_so() -> None:
    with pytest.raises(LocationKeyError, match="outside the grid's domain"):
        BloomEncoding(domain_at(0.1)).place_expressions(Point(6, 0))


def test_an_area_outside_the_domain_declares_nothing() -> None:
    encoding = BloomEncoding(domain_at(0.1))
    assert encoding.area_expressions(Circle(Point(45, 9), radius_m=5), Role.SUBSCRIBER) == ()


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.1])
def test_an_impossible_probability_is_refused(probability: float) -> None:
    with pytest.raises(EncodingError, match="between 0 and 1"):
        domain_at(probability)


def test_a_domain_too_large_for_a_key_is_refused() -> None:
    with pytest.raises(EncodingError, match="fewer fields"):
        BloomDomain("huge", Grid(Box(0, 0, 5, 5), 1000, 1000))
    with pytest.raises(EncodingError, match="name"):
        BloomDomain("a/b", GRID)


def test_any_shape_is_one_key_expression() -> None:
    assert len(encode_area(Circle(Point(0, 0), radius_m=9e6), "bloom")) == 1

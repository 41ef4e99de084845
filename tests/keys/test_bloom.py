from __future__ import annotations

import hashlib

import pytest
from zenoh import KeyExpr

from zonal.errors import EncodingError, LocationKeyError
from zonal.geo import Area, Box, Circle, Grid, GridCell, Point, cell_of
from zonal.keys import (
    BloomDomain,
    BloomEncoding,
    LocationKey,
    Role,
    encode_area,
    encode_place,
    encoding_named,
    encodings,
    match,
    message_keys,
    query_keys,
    queryable_keys,
    register_encoding,
    registry,
)
from zonal.keys.bloom import filters_match
from zonal.keys.grammar import MAX_PUTS

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


def test_an_area_outside_the_domain_is_an_error_that_names_the_domain() -> None:
    register_encoding(BloomEncoding(domain_at(0.1)))
    with pytest.raises(LocationKeyError, match="outside the domain 'thesis"):
        encode_area(Circle(Point(45, 9), radius_m=5), "bloom:thesis-0.1")


def test_a_domain_is_named_by_its_numbers() -> None:
    encoding = encoding_named("bloom:45.3,9.0,45.6,9.3,20x20,0.25")
    assert encoding is encoding_named("bloom:45.3,9.0,45.6,9.3,20x20,0.25")
    assert isinstance(encoding, BloomEncoding)
    assert encoding.domain.grid == Grid(Box(45.3, 9.0, 45.6, 9.3), 20, 20)
    assert encoding == encoding_named("bloom:45.30,9,45.60,9.30,20x20,0.250")
    assert encoding == encoding_named(encoding.name)


def numbered(number: int) -> str:
    return f"bloom:{number}.5,9.0,{number + 1}.5,9.3,4x4,0.25"


def test_however_many_domains_are_named_the_next_is_known_and_16_stay_registered() -> None:
    """Anybody may name domains, as in a request."""
    before = len(encodings())
    used = encoding_named(numbered(-40))
    for number in range(-39, 60):
        assert encoding_named(numbered(number)) in encodings()
        assert encoding_named(used.name) is used  # used again and again, so it stays
    assert len(encodings()) <= before + registry.MOST_DOMAINS
    assert used in encodings()
    assert encoding_named(numbered(-39)) in encodings()


def test_keys_of_a_domain_that_made_room_are_still_read() -> None:
    first = encoding_named(numbered(45))
    (key,) = encode_place(Point(46.1, 9.1), first.name)
    (area,) = encode_area(Circle(Point(46.1, 9.1), radius_m=5), first.name)
    for number in range(-40, 40):
        encoding_named(numbered(number))
    assert first not in encodings()
    assert key.encoding == first.name
    assert match(key, area)
    place = key.decode()
    assert isinstance(place, Area)
    assert place.contains(Point(46.1, 9.1))


def test_a_registered_domain_stays_whatever_is_named() -> None:
    kept = register_encoding(encoding_named(numbered(70)))
    for number in range(-40, 40):
        encoding_named(numbered(number))
    assert kept in encodings()
    assert encoding_named(numbered(70)) is kept
    del registry._ENCODINGS[kept.name]


def test_numbers_name_no_domain_of_more_fields_than_can_be_looked_at() -> None:
    with pytest.raises(EncodingError, match="at most 8,192 fields, not 1,000,000"):
        encoding_named("bloom:0,0,1,1,1000x1000,0.9999")


@pytest.mark.parametrize("text", ["1,2,3,x,4x4,0.1", "95,0,96,1,4x4,0.1", "0,0,1,1,900x900,0.1"])
def test_a_domain_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises((EncodingError, LocationKeyError)):
        encoding_named(f"bloom:{text}")


def test_a_question_about_few_fields_asks_only_those() -> None:
    encoding = BloomEncoding(domain_at(0.25))
    here, there = Circle(Point(1.2, 1.2), radius_m=9), Circle(Point(4.2, 4.2), radius_m=9)
    (asked,) = encoding.area_expressions(here, Role.GET)
    assert "*" not in asked
    get = LocationKey(asked, Role.GET)
    offers = [
        LocationKey(encoding.area_expressions(area, Role.QUERYABLE)[0], Role.QUERYABLE)
        for area in (here, there)
    ]
    assert [encoding.match(get, offer) for offer in offers] == [True, False]
    assert encoding.area_expressions(GRID.domain, Role.GET) == (f"{encoding.prefix}/**",)


def test_a_question_in_a_town_reaches_all_who_share_a_field_and_few_others() -> None:
    encoding = BloomEncoding(BloomDomain("city", Grid(Box(45.3, 9.0, 45.6, 9.3), 20, 20)))
    wanted = Circle(Point(45.45, 9.15), radius_m=2000)
    asked = query_keys("t", wanted, [encoding], lambda _: ())
    assert 8 < len(asked) <= 32
    fields = set(encoding.domain.grid.cells_of(wanted))
    reached = 0
    for lat in range(10):
        for lon in range(10):
            area = Circle(Point(45.32 + 0.029 * lat, 9.02 + 0.029 * lon), radius_m=300)
            (offer,) = queryable_keys("t", area, [encoding])
            meets = any(KeyExpr(key).intersects(KeyExpr(offer)) for key in asked)
            assert meets or fields.isdisjoint(encoding.domain.grid.cells_of(area))
            reached += meets
    assert 4 <= reached <= 20


def test_a_blurred_place_becomes_a_bounded_number_of_puts() -> None:
    encoding = BloomEncoding(BloomDomain("city", Grid(Box(45.3, 9.0, 45.6, 9.3), 20, 20)))
    fence = Circle(Point(45.45, 9.15), radius_m=2000)
    near, wide = (cell_of(Point(45.45, 9.15), level) for level in (13, 8))
    assert 1 < len(message_keys("t", near, fence, encoding)) <= MAX_PUTS
    with pytest.raises(LocationKeyError, match="at most 64 times"):
        message_keys("t", wide, fence, encoding)


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


def test_of_an_area_elsewhere_a_domain_is_left_out() -> None:
    domain = encoding_named("bloom:45.3,9.0,45.6,9.3,20x20,0.25")
    assert domain in encodings(Box(45.4, 9.1, 45.5, 9.2))
    assert domain not in encodings(Box(52.4, 13.1, 52.5, 13.2))
    assert encoding_named("s2") in encodings(Box(52.4, 13.1, 52.5, 13.2))

"""Whatever arrives is read or is a `ZonalError`, and takes no longer than a bound."""

from __future__ import annotations

import logging
import math
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from hostile import Arrived, Stranger
from impostors import Answer, Impostor, Question
from property_examples import examples
from zonal.errors import ZonalError
from zonal.geo import Circle, MultiPolygon, Point, Polygon
from zonal.keys import (
    Role,
    announced_expression,
    encoding_named,
    encodings,
    read_announced,
    refine,
)
from zonal.pipeline import parse_time_range
from zonal.session import Position, Query
from zonal.session.geo_context import GeoContext, identity_of
from zonal.session.liveliness import is_inside, presence_of
from zonal.session.reading import Reading
from zonal.session.replies import Replies
from zonal.session.sample import context_of, copy_mark
from zonal.store import Nearness

HERE = Point(45.4642, 9.19)
AREA = Circle(HERE, radius_m=2000)
LONGEST_S = 0.05
"""Of one thread's time for one input; the machine may be busy with other things."""
READINGS = 7


@pytest.fixture(autouse=True)
def no_log_of_what_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "zonal.session")


def check_message(raw: Arrived) -> None:
    """As at the edge: its context, and the two exact checks."""
    copy_mark(cast("zenoh.Sample", raw))
    context = context_of(cast("zenoh.Sample", raw))
    if context is None:
        return
    if context.place is not None:
        refine(AREA, context.place)
    if context.fence is not None:
        context.fence.contains(HERE)


def check_question(raw: Question) -> None:
    """As a queryable does: the identity, and whether the asked area meets its own."""
    if raw.attachment is None:
        return
    data = raw.attachment.to_bytes()
    identity_of(data)
    context = GeoContext.from_bytes(data)
    if context.area is not None:
        AREA.intersects(context.area)


def check_parameters(raw: Question) -> None:
    """As stores and histories do: the nearest, and a time range."""
    query = Query(cast("zenoh.Query", raw), None, cast("Any", None))
    parameters = query.parameters
    with suppress(ZonalError):
        Nearness.of(parameters)
    parse_time_range(parameters.get("_time") or "", datetime.now(UTC))


def check_answer(raw: Answer) -> None:
    """As whoever has asked does; all that is read of a session is where it is."""
    parts = SimpleNamespace(
        threads=None, position=Position(HERE), keyring=SimpleNamespace(is_used=False)
    )
    replies = Replies("get", 1, AREA, cast("Any", parts))
    for _ in range(2):
        replies._read(cast("zenoh.Reply", raw))


def check_announcement(token: str) -> None:
    """As those who watch announcements do."""
    announced = read_announced(announced_expression(token), encoding_named("json"))
    refine(announced.area, HERE)
    AREA.intersects(announced.area)


def check_presence(key: str) -> None:
    """As those who watch liveliness tokens do: the place behind the key."""
    is_inside(presence_of(key), AREA)


def check_expression(expression: str) -> None:
    """Every encoding reads every expression as an area, or says that it cannot."""
    for encoding in encodings():
        encoding.middle(expression)
        with suppress(ZonalError):
            encoding.decode(expression, Role.SUBSCRIBER)


READERS: tuple[tuple[Callable[[Any], Any], Callable[[Any], None]], ...] = (
    (Stranger.message, check_message),
    (Stranger.token, check_announcement),
    (Stranger.key, check_presence),
    (Stranger.expression, check_expression),
    (Impostor.message, check_message),
    (Impostor.message, check_message),
    (Impostor.answer, check_answer),
    (Impostor.question, check_question),
    (Impostor.question, check_parameters),
    (Impostor.token, check_announcement),
    (Impostor.presence, check_presence),
)


def read(seed: int) -> tuple[float, bool]:
    """Read the input of a seed; how many seconds of this thread it took, and if it was refused."""
    make, check = READERS[seed % len(READERS)]
    given = make(Impostor(seed))
    started = time.thread_time()
    try:
        check(given)
    except ZonalError:
        return time.thread_time() - started, True
    return time.thread_time() - started, False


def is_late(seed: int) -> bool:
    """Whether reading takes too long, each of several times."""
    return all(read(seed)[0] > LONGEST_S for _ in range(READINGS))


@examples(16_000)
@given(st.integers(0, 2**64 - 1))
def test_what_strangers_send_is_read_or_refused(seed: int) -> None:
    assert not is_late(seed)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_a_million_inputs_of_strangers_are_read_or_refused() -> None:
    assert not [seed for seed in range(1_000_000) if is_late(seed)]


def test_most_of_it_is_refused_late_or_not_at_all() -> None:
    """What is refused with its first byte tries nothing: half of it is read to its end."""
    seeds = range(2_200)
    assert sum(not read(seed)[1] for seed in seeds) > len(seeds) / 2
    shapes = 0
    for seed in range(300):
        with suppress(ZonalError):
            context = context_of(cast("zenoh.Sample", Impostor(seed).message()))
            shapes += context is not None and context.fence is not None
    assert shapes > 75


def test_the_reading_of_a_session_lives_through_all_of_it() -> None:
    reading = Reading()
    for seed in range(1_000):
        reading.read(cast("zenoh.Sample", Stranger(seed).message()), unique=bool(seed % 2))
        reading.read(cast("zenoh.Sample", Impostor(seed).message()), unique=bool(seed % 2))
    assert 0 < reading.malformed < 2_000


def comb(teeth: int, *, upright: bool) -> Polygon:
    """A comb, whose teeth all cross those of one that lies."""
    ring = []
    for number in range(teeth):
        at = number * 0.1
        ring += [(at, 0.5), (at, 60.0), (at + 0.05, 60.0), (at + 0.05, 0.5)]
    ring += [(teeth * 0.1, 0.0), (0.0, 0.0)]
    return Polygon(tuple(ring if upright else [(lon, lat) for lat, lon in ring]))


def test_parts_that_would_take_seconds_to_unite_are_refused() -> None:
    """Two combs of 250 teeth cross 250,000 times, and uniting them takes seconds."""
    combs = [comb(250, upright=upright).to_wkb() for upright in (True, False)]
    shape = b"P" + struct.pack("<BII", 1, 6, 2) + b"".join(combs)
    attachment = bytes((0x44, 2)) + struct.pack("<I", len(shape)) + shape
    started = time.thread_time()
    with pytest.raises(ZonalError, match="overlap"):
        GeoContext.from_bytes(attachment)
    assert time.thread_time() - started < 1.0


def outline_of(lon: float) -> Polygon:
    """A round figure of 200 corners on the equator, 40° wide."""
    turns = [math.tau * number / 200 for number in range(200)]
    return Polygon(tuple((20 * math.sin(turn), lon + 20 * math.cos(turn)) for turn in turns))


def test_our_own_parts_that_overlap_are_sent_as_their_union() -> None:
    many_corners = (outline_of(lon) for lon in (10.0, 30.0, 50.0))
    fence = MultiPolygon(tuple(many_corners))
    read = GeoContext.from_bytes(GeoContext(fence=fence).to_bytes()).fence
    assert read is not None
    (expression,) = encoding_named("json").area_expressions(fence, Role.SUBSCRIBER)
    announced = read_announced(expression, encoding_named("json")).area
    for number in range(200):
        point = Point(number % 41 - 20.0, number % 81 - 10.0)
        assert read.contains(point) == announced.contains(point) == fence.contains(point)


def square(size: float) -> tuple[tuple[float, float], ...]:
    low, high = 40 - size / 2, 40 + size / 2
    return (low, low), (low, high), (high, high), (high, low)


def test_the_most_expensive_shape_that_fits_does_not_hold_others_up() -> None:
    """Rings inside rings: comparing them takes the square of their number."""
    rings = [Polygon(square(78 - n / 5), (square(77.9 - n / 5),)) for n in range(185)]
    attachment = GeoContext(fence=MultiPolygon(tuple(rings))).to_bytes()

    def taken_s() -> float:
        started = time.thread_time()
        GeoContext.from_bytes(attachment)
        return time.thread_time() - started

    assert min(taken_s() for _ in range(READINGS)) < LONGEST_S

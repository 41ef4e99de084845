"""The producer geofence: enforced by routers, exactly at the edge."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from network import collect, eventually, texts, wait_until_declared
from zonal.errors import PositionError
from zonal.geo import (
    Box,
    Cell,
    Circle,
    Everywhere,
    Point,
    cell_of,
    destination,
    level_for_size,
)
from zonal.session import Session

DUOMO = Point(45.4642, 9.1900)
MONZA = Point(45.5845, 9.2744)
OpenClient = Callable[..., Session]


@pytest.mark.parametrize("encoding", ["s2", "mgrs", "bloom", "json"])
def test_only_those_inside_the_fence_hear(
    near: Session, far_client: OpenClient, topic: str, encoding: str
) -> None:
    inside = far_client(position=DUOMO).declare_subscriber(
        topic, area=Everywhere(), encoding=encoding
    )
    outside = far_client(position=MONZA).declare_subscriber(
        topic, area=Everywhere(), encoding=encoding
    )
    for subscriber in (inside, outside):
        wait_until_declared(near, subscriber)
    near.put(
        topic, "fenced", location=MONZA, geofence=Circle(DUOMO, radius_m=500), encoding=encoding
    )
    near.put(topic, "for all", location=MONZA, encoding=encoding)
    assert sorted(texts(collect(inside, 2))) == ["fenced", "for all"]  # they come by two keys
    assert texts(collect(outside, 1)) == ["for all"]
    assert outside.counters.received == 1  # not one byte of the fenced message came here


def test_the_fence_is_exact_at_the_edge(near: Session, far_client: OpenClient, topic: str) -> None:
    just_in = far_client(position=destination(DUOMO, 45, 499.9))
    just_out = far_client(position=destination(DUOMO, 45, 500.1))
    subscribers = [s.declare_subscriber(topic, area=Everywhere()) for s in (just_in, just_out)]
    for subscriber in subscribers:
        wait_until_declared(near, subscriber)
    near.put(topic, "fenced", location=MONZA, geofence=Circle(DUOMO, radius_m=500))
    near.put(topic, "end", location=MONZA)
    assert sorted(texts(collect(subscribers[0], 2))) == ["end", "fenced"]
    assert texts(collect(subscribers[1], 1)) == ["end"]


def test_both_areas_must_agree(near: Session, far_client: OpenClient, topic: str) -> None:
    """Content, then the consumer's geofence, then the producer's."""
    here = far_client(position=DUOMO)
    narrow = here.declare_subscriber(topic, area=Circle(DUOMO, radius_m=1000))
    wait_until_declared(near, narrow)
    fence = Circle(DUOMO, radius_m=500)
    near.put(topic, "from afar, fenced to us", location=MONZA, geofence=fence)
    near.put(
        topic, "from here, fenced elsewhere", location=DUOMO, geofence=Circle(MONZA, radius_m=9)
    )
    near.put(f"{topic}/other", "another topic", location=DUOMO, geofence=fence)
    near.put(topic, "from here, fenced to us", location=DUOMO, geofence=fence)
    (sample,) = collect(narrow, 1)
    assert sample.payload.to_string() == "from here, fenced to us"
    assert sample.geofence == fence


def test_nobody_without_a_location_hears_a_fenced_message_unless_asking_for_them(
    near: Session, far: Session, topic: str
) -> None:
    ordinary = far.declare_subscriber(topic)
    wait_until_declared(near, ordinary)
    near.put(topic, "fenced", location=DUOMO, geofence=Circle(DUOMO, radius_m=500))
    near.put(topic, "end", location=DUOMO)
    assert texts(collect(ordinary, 1)) == ["end"]
    ordinary.undeclare()

    recorder = far.declare_subscriber(topic, fenced=True)
    wait_until_declared(near, recorder)
    large = Box(45.0, 8.5, 46.0, 10.0)  # a cover of several cells: several copies are sent
    near.put(topic, "fenced", location=DUOMO, geofence=large)
    near.put(topic, "fenced from nowhere", geofence=large)
    near.put(topic, "end", location=DUOMO)
    samples = collect(recorder, 3)
    assert set(texts(samples)) == {"fenced", "fenced from nowhere", "end"}
    eventually(lambda: recorder.counters.duplicates > 0)
    assert recorder.try_recv() is None


def test_a_recorder_beside_an_ordinary_subscriber_changes_nothing_for_it(
    near: Session, far: Session, topic: str
) -> None:
    ordinary = far.declare_subscriber(topic)
    recorder = far.declare_subscriber(topic, fenced=True)
    wait_until_declared(near, recorder)
    near.put(topic, "fenced", location=DUOMO, geofence=Circle(DUOMO, radius_m=500))
    near.put(topic, "end", location=DUOMO)
    assert set(texts(collect(recorder, 2))) == {"fenced", "end"}
    assert texts(collect(ordinary, 1)) == ["end"]


def test_the_whole_network_with_a_position_hears_the_fences_it_is_in(
    near: Session, far_client: OpenClient, topic: str
) -> None:
    subscriber = far_client(position=DUOMO).declare_subscriber(topic)
    wait_until_declared(near, subscriber)
    near.put(topic, "elsewhere", location=MONZA, geofence=Circle(MONZA, radius_m=500))
    near.put(topic, "here", location=MONZA, geofence=Circle(DUOMO, radius_m=500))
    near.put(topic, "here, from nowhere", geofence=Circle(DUOMO, radius_m=500))
    assert set(texts(collect(subscriber, 2))) == {"here", "here, from nowhere"}


def test_a_consumer_that_moves_into_a_fence_hears_from_then_on(
    near: Session, far_client: OpenClient, topic: str
) -> None:
    where = [MONZA]
    session = far_client(position=lambda: where[0], lifetime=3600)
    subscriber = session.declare_subscriber(topic, area=Everywhere())
    wait_until_declared(near, subscriber)
    publisher = near.declare_publisher(topic, location=MONZA, geofence=Circle(DUOMO, radius_m=500))
    publisher.put("not yet")
    near.put(topic, "mark", location=MONZA)
    assert texts(collect(subscriber, 1)) == ["mark"]
    where[0] = DUOMO
    session.update_position()
    wait_until_declared(near, subscriber)
    publisher.put("now")
    assert texts(collect(subscriber, 1)) == ["now"]


def test_a_fence_without_a_centre_needs_a_place(near: Session, topic: str) -> None:
    with pytest.raises(PositionError, match="geofence without a centre"):
        near.put(topic, b"", geofence=Circle(radius_m=10))


@pytest.mark.parametrize("encoding", ["s2", "mgrs", "bloom", "json"])
def test_a_blurred_place_is_given_only_to_its_cell(
    near: Session, far: Session, topic: str, encoding: str
) -> None:
    with far.declare_subscriber(
        topic, area=Circle(DUOMO, radius_m=200), encoding=encoding
    ) as subscriber:
        wait_until_declared(near, subscriber)
        near_by = destination(DUOMO, 90, 300)  # outside the circle, but its cell reaches in
        near.put(topic, "blurred", location=near_by, precision_m=1000, encoding=encoding)
        near.put(topic, "far", location=MONZA, precision_m=1000, encoding=encoding)
        near.put(topic, "exact", location=near_by, encoding=encoding)
        near.put(topic, "end", location=DUOMO, encoding=encoding)
        samples = sorted(collect(subscriber, 2), key=lambda sample: sample.payload.to_string())
        assert texts(samples) == ["blurred", "end"]
        assert samples[0].is_blurred
        place = samples[0].place
        assert isinstance(place, Cell)
        assert place == cell_of(near_by, level_for_size(1000, step=2))
        assert samples[0].location == place.center
        assert subscriber.try_recv() is None


def test_a_misspelt_option_is_refused_and_nothing_is_sent(near: Session, topic: str) -> None:
    everything = near.declare_subscriber(topic, fenced=True)
    fence = Circle(DUOMO, radius_m=500)
    with pytest.raises(TypeError, match="geofense"):
        near.put(topic, "x", location=DUOMO, geofense=fence)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="locaton"):
        near.delete(topic, locaton=DUOMO)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="geofense"):
        near.declare_publisher(topic, geofense=fence)  # type: ignore[call-arg]
    near.put(topic, "end")
    assert texts(collect(everything, 1)) == ["end"]

"""What a broker declares: never too little, never too much of it, and as little as it can."""

from __future__ import annotations

from typing import Any

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from broker_bench import Bench
from places import polygons
from property_examples import examples
from zonal.broker.envelope import seal, unseal
from zonal.broker.interest import ClientsInterest
from zonal.broker.keymap import (
    check_topic,
    filter_of_key,
    key_of_filter,
    key_of_topic,
    topic_of_key,
)
from zonal.broker.message import Message
from zonal.broker.session import ClientSubscription
from zonal.broker.topics import matches, valid_filter
from zonal.errors import AttachmentError
from zonal.geo import Area, Box, Circle, Point
from zonal.keys import encoding_named, encodings, message_keys
from zonal.session import GeoContext
from zonal.trust import read_places, written_places

LEVELS = st.sampled_from(["", "a", "b", "@s2", "@to", "$x", "50%", "what?", "x*", "%41", "é"])
TOPICS = st.lists(LEVELS, min_size=1, max_size=4).map("/".join).filter(bool)
FILTERS = st.lists(LEVELS | st.just("+"), min_size=1, max_size=4).flatmap(
    lambda levels: st.sampled_from(["/".join(levels), "/".join([*levels, "#"]), "#"])
)
POINTS = st.builds(Point, st.floats(45.0, 46.0), st.floats(9.0, 10.0))
AREAS = st.builds(
    lambda center, radius: Circle(center, radius_m=radius), POINTS, st.floats(5.0, 30_000.0)
) | st.builds(lambda p, d: Box(p.lat, p.lon, p.lat + d, p.lon + d), POINTS, st.floats(0.001, 1.0))
EGO = st.builds(lambda radius: Circle(radius_m=radius), st.floats(5.0, 5000.0))


@examples(300)
@given(TOPICS)
def test_every_topic_is_a_key_and_comes_back(topic: str) -> None:
    key = key_of_topic(topic)
    assert str(zenoh.KeyExpr(key)) == key
    assert not any(chunk.startswith("@") for chunk in key.split("/"))
    assert topic_of_key(key) == topic


@examples(400)
@given(FILTERS, TOPICS)
def test_a_filters_key_expression_matches_whatever_the_filter_does(
    topic_filter: str, topic: str
) -> None:
    if not valid_filter(topic_filter, 100):
        return
    expression = key_of_filter(topic_filter)
    assert filter_of_key(expression) == topic_filter
    if matches(topic_filter, topic):
        assert zenoh.KeyExpr(expression).intersects(zenoh.KeyExpr(key_of_topic(topic)))


def subscriber(name: str, location: Point | None, area: Area | None) -> ClientSubscription:
    bench = Bench()
    session = bench.broker.new_session(name, None)
    session.location = location
    subscription = ClientSubscription(session, "t/+", "t/+", area=area)
    session.subscriptions["t/+"] = subscription
    return subscription


@examples(150)
@given(
    st.lists(st.tuples(st.none() | POINTS, st.none() | AREAS | EGO), min_size=1, max_size=12),
    st.none() | POINTS,
    st.none() | AREAS,
    st.lists(st.tuples(st.integers(0, 11), POINTS), max_size=8),
    st.sampled_from([1000, 60, 10, 4]),
    st.sampled_from(["s2", "mgrs", "bloom"]),
)
def test_whatever_passes_the_checks_is_declared(
    wishes: list[tuple[Point | None, Area | None]],
    location: Point | None,
    fence: Area | None,
    moves: list[tuple[int, Point]],
    budget: int,
    name: str,
) -> None:
    encoding = encoding_named(name)
    interest = ClientsInterest()
    subscriptions = [subscriber(f"c{n}", *wish) for n, wish in enumerate(wishes)]
    for subscription in subscriptions:
        interest.added(subscription)
    for number, place in moves:
        session = subscriptions[number % len(subscriptions)].session
        session.location = place
        interest.moved(session)
    for subscription in subscriptions[::3]:
        interest.removed(subscription)
    left = [s for n, s in enumerate(subscriptions) if n % 3]
    declared = interest.keys(budget)
    assert len(declared) <= max(budget, 2 + 2 * len(encodings()))
    message = Message("t/x", b"")
    message.location, message.geofence = location, fence
    if any(subscription.passes_geo(message, 0.0) for subscription in left):
        expressions = [zenoh.KeyExpr(key) for key in declared]
        assert any(
            expression.intersects(zenoh.KeyExpr(key))
            for key in message_keys("t/x", location, fence, encoding)
            for expression in expressions
        )
    for subscription in left:
        interest.removed(subscription)
    assert interest.keys(budget) == frozenset()


def test_small_moves_change_nothing() -> None:
    interest = ClientsInterest()
    subscription = subscriber("c", Point(45.5, 9.2), Circle(radius_m=2000))
    interest.added(subscription)
    before, changes = interest.keys(), interest.changes
    subscription.session.location = Point(45.5005, 9.2005)
    interest.moved(subscription.session)
    assert interest.changes == changes
    subscription.session.location = Point(45.6, 9.3)
    interest.moved(subscription.session)
    assert interest.keys() != before


def test_thousands_of_filters_stay_within_the_budget() -> None:
    interest = ClientsInterest()
    bench = Bench()
    session = bench.broker.new_session("c", None)
    for number in range(3000):
        pattern = f"root{number % 7}/device{number}/#"
        subscription = ClientSubscription(session, pattern, pattern)
        session.subscriptions[pattern] = subscription
        interest.added(subscription)
    keys = interest.keys()
    assert len(keys) <= 1000
    topic = zenoh.KeyExpr("root3/device10/x")
    assert any(zenoh.KeyExpr(key).intersects(topic) for key in keys)


def test_the_brokers_own_topics_are_not_asked_for_elsewhere() -> None:
    interest = ClientsInterest()
    bench = Bench()
    session = bench.broker.new_session("c", None)
    interest.added(ClientSubscription(session, "$SYS/#", "$SYS/#"))
    assert interest.keys() == frozenset()


def test_an_envelope_keeps_everything_about_a_message() -> None:
    message = Message("a/b", b"payload", qos=2, retain=True)
    message.payload_format, message.expires_at, message.content_type = 1, 130.0, "c"
    message.response_topic, message.correlation_data = "r", b"\0"
    message.user_properties = [("k", "v"), ("k", "w")]
    arrived = unseal(seal(message, 7, 9, 100.0), b"payload", now=200.0)
    assert arrived is not None
    assert (arrived.broker, arrived.number) == (7, 9)
    copy = arrived.message
    for name in ("topic", "payload", "qos", "retain", "payload_format", "content_type",
                 "response_topic", "correlation_data", "user_properties"):  # fmt: skip
        assert getattr(copy, name) == getattr(message, name)
    assert copy.expires_at == 230.0


def test_an_envelope_is_never_taken_for_a_geo_context() -> None:
    data = seal(Message("a", b"x"), 7, 9, 100.0)
    with pytest.raises(AttachmentError):
        GeoContext.from_bytes(data)
    assert unseal(GeoContext(1, 2, Point(45, 9)).to_bytes("@s2/1")) is None


def test_other_attachments_are_none_of_ours() -> None:
    assert unseal(None) is None
    assert unseal(b"something else") is None


def test_a_seal_needs_the_secret_and_holds_for_its_places_and_its_minute() -> None:
    message = Message("a", b"payload", 1)
    message.location, message.geofence = Point(45, 9), Circle(Point(45, 9), radius_m=100)
    data = seal(message, 7, 9, 100.0, b"secret")

    def unsealed(**changed: Any) -> object:
        given: dict[str, Any] = {
            "data": data, "payload": b"payload", "place": Point(45, 9), "radius_m": 100,
            "now": 110.0, "secret": b"secret", **changed,
        }  # fmt: skip
        fence = Circle(Point(45, 9), radius_m=given["radius_m"])
        return unseal(
            given["data"], given["payload"], given["place"], fence,
            now=given["now"], secret=given["secret"],
        )  # fmt: skip

    assert unsealed() is not None
    changed: list[dict[str, Any]] = [
        {"payload": b"other"}, {"secret": b"guess"}, {"data": data[:-1] + b"x"},
        {"data": seal(message, 7, 9, 100.0)}, {"place": Point(45, 9.1)}, {"radius_m": 1e6},
        {"now": 161.0}, {"now": 39.0},
    ]  # fmt: skip
    for wrong in changed:
        with pytest.raises(AttachmentError):
            unsealed(**wrong)


@given(place=st.none() | POINTS, fence=st.none() | AREAS | polygons())
def test_places_are_the_same_at_both_ends(place: Point | None, fence: Area | None) -> None:
    written = written_places(place, fence)
    location, geofence = read_places(written)
    assert location == place
    assert written_places(location, geofence) == written


@pytest.mark.parametrize(
    ("topic", "key"), [("$SYS/broker/version", "$SYS/broker/version"), ("a/b", "a/c"), ("a", "b")]
)
def test_a_message_cannot_name_another_topic_than_its_key(topic: str, key: str) -> None:
    with pytest.raises(AttachmentError):
        check_topic(topic, key)
    check_topic("a//b", key_of_topic("a//b"))

"""Every error of the session is a `ZonalError` in our words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import zonal
from network import client
from zonal import Circle, Session, ZonalError
from zonal.errors import ConfigurationError, GeometryError, PayloadError
from zonal.session import Router

DUOMO = (45.4642, 9.19)
WRONG_TOPICS = ["a//b", "/a", "a/", "a/#", "city/+/a", "a?b", "a*b", "a/**/**", "a/@s2", ""]

USES: dict[str, Callable[[Session, Any], Any]] = {
    "put": lambda session, key: session.put(key, b""),
    "delete": lambda session, key: session.delete(key),
    "publisher": lambda session, key: session.declare_publisher(key).put(b""),
    "fixed publisher": lambda session, key: session.declare_publisher(key, location=(45, 9)),
    "subscriber": lambda session, key: session.declare_subscriber(key),
    "pull": lambda session, key: session.declare_pull_subscriber(key),
    "get": lambda session, key: session.get(key),
    "querier": lambda session, key: session.declare_querier(key).get(),
    "queryable": lambda session, key: session.declare_queryable(key),
    "token": lambda session, key: session.liveliness().declare_token(key),
    "presence": lambda session, key: session.liveliness().declare_subscriber(key),
    "who is there": lambda session, key: session.liveliness().get(key),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("topic", WRONG_TOPICS)
def test_a_wrong_topic(near: Session, use: str, topic: str) -> None:
    if use == "get" and topic == "a?b":
        return  # a selector: the topic a with the parameter b
    with pytest.raises(zonal.TopicError) as caught:
        USES[use](near, topic)
    assert ".rs:" not in str(caught.value)


@pytest.mark.parametrize("use", USES)
def test_a_closed_session(routers: list[Router], use: str) -> None:
    session = client(routers[0])
    session.close()
    with pytest.raises(zonal.ClosedError):
        USES[use](session, "a/b")


@pytest.mark.parametrize("use", USES)
def test_a_plain_session_that_was_closed_beneath_it(routers: list[Router], use: str) -> None:
    with client(routers[0]) as session:
        session.zenoh.close()
        with pytest.raises(zonal.ClosedError):
            USES[use](session, "a/b")


@pytest.mark.parametrize("location", [None, (45, 9)])
def test_a_closed_publisher(routers: list[Router], location: Any) -> None:
    with client(routers[0]) as session:
        publisher = session.declare_publisher("a/b", location=location)
        publisher.undeclare()
        with pytest.raises(zonal.ClosedError):
            publisher.put(b"")
        beneath = session.declare_publisher("a/b", location=location)
        beneath.put(b"")
        session.zenoh.close()
        with pytest.raises(zonal.ClosedError):
            beneath.put(b"")
        with pytest.raises(zonal.ClosedError):
            beneath.delete()


@pytest.mark.parametrize("payload", [17, 1.5, object(), {1, 2}, {"a": object()}, [float("nan")]])
def test_a_payload_of_the_wrong_kind(near: Session, payload: Any) -> None:
    for put in (
        lambda: near.put("a/b", payload),
        lambda: near.declare_publisher("a/b").put(payload),
        lambda: near.declare_publisher("a/b", location=(45, 9)).put(payload),
        lambda: near.get("a/b", payload=payload),
    ):
        with pytest.raises(zonal.PayloadError, match="a payload is bytes, a str, or"):
            put()


@pytest.mark.parametrize("location", [(45,), (45, 9, 1), "here", 45, (91, 0), {}])
def test_a_location_that_is_none(near: Session, location: Any) -> None:
    for use in (
        lambda: near.put("a/b", b"", location=location),
        lambda: near.declare_publisher("a/b", location=location),
        lambda: near.declare_publisher("a/b").put(b"", location=location),
        lambda: near.liveliness().declare_token("a/b", location=location),
    ):
        with pytest.raises(zonal.GeometryError):
            use()


@pytest.mark.parametrize("area", [(45, 9), "here", 45, {}, {"type": "LineString"}])
def test_an_area_that_is_none(near: Session, area: Any) -> None:
    for use in (
        lambda: near.put("a/b", b"", geofence=area),
        lambda: near.declare_publisher("a/b", geofence=area),
        lambda: near.declare_subscriber("a/b", area=area),
        lambda: near.declare_queryable("a/b", area=area),
        lambda: near.declare_querier("a/b", area=area),
        lambda: near.get("a/b", area=area),
        lambda: near.liveliness().declare_subscriber("a/b", area=area),
    ):
        with pytest.raises(zonal.GeometryError):
            use()


@pytest.mark.parametrize(
    "endpoint",
    [
        "garbage",
        "tcp/127.0.0.1",
        "tcp/:7447",
        "tcp/127.0.0.1:port",
        "tcp/h:70000",
        "foo/h:1",
        "",
        1,
    ],
)
def test_a_malformed_endpoint_is_told_what_is_right(endpoint: Any) -> None:
    with pytest.raises(zonal.ConfigurationError, match=r"such as tcp/127\.0\.0\.1:7447"):
        zonal.config("client", connect=[endpoint])
    with pytest.raises(zonal.ConfigurationError):
        zonal.config(listen=[endpoint])


@pytest.mark.parametrize("settings", [{"nonsense": 1}, {"mode": "nonsense"}, {"mode": object()}])
def test_an_entry_that_zenoh_does_not_take(settings: dict[str, Any]) -> None:
    with pytest.raises(zonal.ConfigurationError, match=next(iter(settings))) as caught:
        zonal.config(settings=settings)
    assert ".rs:" not in str(caught.value)


def test_an_unreachable_router_is_named() -> None:
    with pytest.raises(zonal.NetworkError, match=r"cannot reach tcp/127\.0\.0\.1:1: ") as caught:
        zonal.open(zonal.config("client", connect=["tcp/127.0.0.1:1"]))
    assert isinstance(caught.value, ZonalError)
    assert ".rs:" not in str(caught.value)


def test_an_endpoint_that_is_taken_is_named(routers: list[Router]) -> None:
    taken = routers[0].endpoints[0]
    for open_it in (
        lambda: zonal.open(zonal.config("peer", listen=[taken], scouting=False)),
        lambda: Router([taken]),
    ):
        with pytest.raises(zonal.NetworkError, match=taken) as caught:
            open_it()
        assert ".rs:" not in str(caught.value)


def test_a_position_that_is_none() -> None:
    with pytest.raises(zonal.PositionError, match="a position is a point or a callable"):
        zonal.open(position=17)


def test_a_circle_that_follows_needs_a_position(near: Session) -> None:
    around = Circle(radius_m=500)
    for use in (
        lambda: near.put("a/b", b"", geofence=around),
        lambda: near.declare_publisher("a/b", geofence=around).put(b""),
        lambda: near.declare_subscriber("a/b", area=around),
        lambda: near.declare_queryable("a/b", area=around),
        lambda: near.get("a/b", area=around),
        lambda: near.liveliness().declare_subscriber("a/b", area=around),
    ):
        with pytest.raises(zonal.PositionError):
            use()


@pytest.mark.parametrize(
    ("error", "use"),
    [
        (PayloadError, lambda s: s.put("t", None)),
        (PayloadError, lambda s: s.declare_publisher("t").put(None)),
        (ConfigurationError, lambda s: s.declare_subscriber("t", 5)),
        (ConfigurationError, lambda s: s.declare_subscriber("t", (5, "kept"))),
        (ConfigurationError, lambda s: s.declare_queryable("t", "answer")),
        (ConfigurationError, lambda s: s.declare_fence("t", Circle(DUOMO, radius_m=9), 5)),
        (ConfigurationError, lambda s: s.get("t", 5)),
        (ConfigurationError, lambda s: s.liveliness().declare_subscriber("t", 5)),
        (ConfigurationError, lambda s: s.declare_subscriber("t", capacity=0)),
        (ConfigurationError, lambda s: s.declare_queryable("t", capacity=1.5)),
        (ConfigurationError, lambda s: s.get("t", timeout=-1)),
        (ConfigurationError, lambda s: s.declare_querier("t", timeout=float("nan"))),
        (ConfigurationError, lambda s: s.liveliness().get("t", timeout="soon")),
        (GeometryError, lambda s: s.declare_subscriber("t", margin_m=-1)),
        (GeometryError, lambda s: s.declare_queryable("t", margin_m=float("nan"))),
        (GeometryError, lambda s: s.get("t", nearest=2.5, to=DUOMO)),
        (GeometryError, lambda s: s.get("t", nearest=2, to=DUOMO, within_m=float("nan"))),
    ],
)
def test_options_that_cannot_be_are_refused_before_anything_is_declared(
    near: Session, error: type[ZonalError], use: Callable[[Session], object]
) -> None:
    before = repr(near)
    with pytest.raises(error):
        use(near)
    assert repr(near).replace("1 publishers", "0 publishers") == before

"""Fences through a real router: events, the ring in which leaving is noticed, and the store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import zenoh

from network import eventually, plain_client, wait_for_match, wait_until_answered
from zonal import FenceEvent, Store
from zonal.errors import ClosedError, FenceError, PositionError
from zonal.geo import Box, Circle, Point, destination
from zonal.keys import encoding_named, message_keys
from zonal.session import Fence, GeoContext, Router, Session

DUOMO = Point(45.4642, 9.1900)
CENTRE = Circle(DUOMO, radius_m=1000)
FAR = destination(DUOMO, 90, 10_000)
OpenClient = Callable[..., Session]


def declared(session: Session, *fences: Fence) -> None:
    """Until the fences are known at this session."""
    for fence in fences:
        for key in fence.declared_keys:
            wait_for_match(session.zenoh, key)


def next_events(fence: Fence, count: int) -> list[FenceEvent]:
    events: list[FenceEvent] = []
    deadline = time.monotonic() + 20
    while len(events) < count:
        event = fence.recv(timeout=max(0.0, deadline - time.monotonic()))
        assert event is not None, f"only {events}"
        events.append(event)
    return events


def kinds(events: Iterable[FenceEvent]) -> list[tuple[str, str]]:
    return [(event.kind, event.thing.rpartition("/")[2]) for event in events]


def test_things_come_and_go(open_client: OpenClient, topic: str) -> None:
    watcher, bus = open_client(), open_client()
    with watcher.declare_fence(
        f"{topic}/*", CENTRE, on=("enter", "leave", "cross"), hysteresis_m=25
    ) as fence:
        declared(bus, fence)
        places = [1300, 500, 1010, 999, 1200, -1200]  # in, out within the hysteresis, in, out, over
        for metres in places:
            bus.put(f"{topic}/1", str(metres), location=destination(DUOMO, 90, metres))
        events = next_events(fence, 3)
        assert kinds(events) == [("enter", "1"), ("leave", "1"), ("cross", "1")]
        enter, leave, cross = events
        assert (enter.sample.text, leave.sample.text, cross.sample.text) == ("500", "1200", "-1200")
        assert enter.previous == destination(DUOMO, 90, 1300)
        assert leave.since == enter.at
        assert (enter.zone, leave.reason) == (None, "moved")
        bus.put(f"{topic}/2", "in", location=DUOMO)
        assert kinds(next_events(fence, 1)) == [("enter", "2")]
        assert fence.inside() == [(f"{topic}/2", None)]
        bus.delete(f"{topic}/2", location=DUOMO)
        (gone,) = next_events(fence, 1)
        assert (gone.kind, gone.reason) == ("leave", "deleted")
    with pytest.raises(ClosedError):
        fence.recv()


def test_a_time_stamp_from_the_future_tells_nothing(
    open_client: OpenClient, router: Router, topic: str
) -> None:
    watcher, bus = open_client(), open_client()
    with watcher.declare_fence(f"{topic}/*", CENTRE) as fence, plain_client(router) as stranger:
        declared(bus, fence)
        bus.put(f"{topic}/1", "in", location=DUOMO)
        assert kinds(next_events(fence, 1)) == [("enter", "1")]
        (key,) = message_keys(f"{topic}/1", DUOMO, None, encoding_named("s2"))
        stamp = zenoh.Timestamp(zenoh.NTP64(2**31 - 1, 0), b"\x01")  # routers leave it to a DELETE
        stranger.delete(key, attachment=GeoContext(place=DUOMO).to_bytes(), timestamp=stamp)
        eventually(lambda: fence.counters.received == 2)
        bus.put(f"{topic}/1", "out", location=destination(DUOMO, 90, 1200))
        (leave,) = next_events(fence, 1)
        assert (leave.kind, leave.reason) == ("leave", "moved")


def test_the_network_filters_what_is_far_from_the_zone(open_client: OpenClient, topic: str) -> None:
    watcher, bus = open_client(), open_client()
    with watcher.declare_fence(f"{topic}/*", CENTRE, reach_m=300) as fence:
        declared(bus, fence)
        for number in range(50):
            bus.put(f"{topic}/far", "x", location=destination(FAR, 7 * number, 3000))
        bus.put(f"{topic}/near", "x", location=DUOMO)
        assert kinds(next_events(fence, 1)) == [("enter", "near")]
        assert fence.counters.received < 10


def test_who_stays_dwells_and_who_falls_silent_leaves(open_client: OpenClient, topic: str) -> None:
    watcher, bus = open_client(), open_client()
    on = ("enter", "leave", "dwell")
    with watcher.declare_fence(f"{topic}/*", CENTRE, on=on, dwell_s=0.3, silence_s=1) as fence:
        declared(bus, fence)
        bus.put(f"{topic}/1", "x", location=DUOMO)
        enter, dwell, leave = next_events(fence, 3)
        assert [enter.kind, dwell.kind, leave.kind] == ["enter", "dwell", "leave"]
        assert (dwell.at - enter.at).total_seconds() == 0.3
        assert (leave.at - enter.at).total_seconds() == 1.0
        assert (leave.reason, leave.sample) == ("silent", None)


async def test_events_are_awaited_or_handed_to_a_callback(
    open_client: OpenClient, topic: str
) -> None:
    watcher, bus = open_client(), open_client()
    called: list[FenceEvent] = []
    zones = {"west": Box(45.0, 8.0, 46.0, 9.19), "east": Box(45.0, 9.19, 46.0, 10.0)}
    with (
        watcher.declare_fence(f"{topic}/*", zones) as fence,
        watcher.declare_fence(f"{topic}/*", zones, called.append),
    ):
        declared(bus, fence)
        bus.put(f"{topic}/1", "x", location=Point(45.4, 9.1))
        bus.put(f"{topic}/1", "x", location=Point(45.4, 9.3))
        heard = []
        async with asyncio.timeout(20):
            async for event in fence:
                heard.append((event.kind, event.zone))
                if len(heard) == 3:
                    break
        assert heard == [("enter", "west"), ("leave", "west"), ("enter", "east")]
        eventually(lambda: len(called) == 3)
        assert [(event.kind, event.zone) for event in called] == heard


def test_a_zone_without_a_centre_roams(open_client: OpenClient, topic: str) -> None:
    where = [DUOMO]
    walker, bus = open_client(position=lambda: where[0], lifetime=0), open_client()
    with walker.declare_fence(f"{topic}/*", Circle(radius_m=200), hysteresis_m=10) as fence:
        declared(bus, fence)
        bus.put(f"{topic}/bus", "x", location=destination(DUOMO, 90, 300))
        eventually(lambda: fence.counters.received >= 1)
        where[0] = destination(DUOMO, 90, 150)  # I come near
        walker.update_position()
        assert kinds(next_events(fence, 1)) == [("enter", "bus")]
        bus.put(f"{topic}/bus", "x", location=destination(DUOMO, 90, 500))  # it goes
        assert kinds(next_events(fence, 1)) == [("leave", "bus")]
        where[0] = FAR
        walker.update_position()
        declared(bus, fence)
        bus.put(f"{topic}/tram", "x", location=FAR)
        assert kinds(next_events(fence, 1)) == [("enter", "tram")]


def test_a_watcher_that_comes_back_resumes_from_the_store(
    open_client: OpenClient, topic: str
) -> None:
    bus = open_client()
    with Store(open_client(), f"{topic}/**") as store:
        wait_until_answered(bus, store)
        eventually(lambda: _kept(bus, f"{topic}/in", DUOMO, store))
        eventually(lambda: _kept(bus, f"{topic}/out", FAR, store))
        watcher = open_client()
        wait_until_answered(watcher, store)
        with watcher.declare_fence(f"{topic}/*", CENTRE) as fence:
            assert fence.inside() == [(f"{topic}/in", None)]
            declared(bus, fence)
            bus.put(f"{topic}/in", "x", location=destination(DUOMO, 0, 10))  # no event
            bus.put(f"{topic}/out", "x", location=DUOMO)
            bus.put(f"{topic}/in", "x", location=destination(DUOMO, 0, 1200))
            enter, leave = next_events(fence, 2)
            assert kinds([enter, leave]) == [("enter", "out"), ("leave", "in")]
            assert leave.since is None  # nobody knows


def test_a_store_is_asked_for_what_jumped_beyond_the_ring(
    open_client: OpenClient, topic: str
) -> None:
    bus = open_client()
    with Store(open_client(), f"{topic}/**") as store:
        watcher = open_client()
        wait_until_answered(watcher, store)
        with watcher.declare_fence(f"{topic}/*", CENTRE, reach_m=100, ask_s=0.5) as fence:
            declared(bus, fence)
            wait_until_answered(bus, store)
            bus.put(f"{topic}/1", "x", location=DUOMO)
            assert kinds(next_events(fence, 1)) == [("enter", "1")]
            eventually(lambda: _kept(bus, f"{topic}/1", FAR, store))
            (leave,) = next_events(fence, 1)
            assert (leave.kind, leave.location) == ("leave", FAR)
            assert fence.asked >= 1


def _kept(session: Session, key: str, place: Point, store: Store) -> bool:
    session.put(key, "x", location=place)
    return any(each.place == place for each in store.find(key))


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"on": ["arrive"]}, FenceError),
        ({"hysteresis_m": 100, "reach_m": 50}, FenceError),
        ({"area": Circle(radius_m=5)}, PositionError),
    ],
)
def test_fences_that_cannot_be_are_refused(
    near: Session, topic: str, options: dict[str, Any], wrong: type[Exception]
) -> None:
    with pytest.raises(wrong):
        near.declare_fence(topic, **{"area": CENTRE, **options})

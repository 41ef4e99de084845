"""The machine at the border, against a model that knows no vectors, no index and no heap."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.border import KINDS, Border, BorderPlan, FenceEvent, NotedPlace, ZoneSet, micros_of
from zonal.border.meeting import goes_through
from zonal.errors import FenceError
from zonal.geo import Area, Box, Circle, Everywhere, Point, Polygon, destination

DUOMO = Point(45.4642, 9.1900)
SECOND = 1_000_000
ALL = BorderPlan(on=KINDS, dwell_s=60, hysteresis_m=25, silence_s=120)
ZONES = ZoneSet(
    ("circle", "box", "polygon", "odd"),
    (
        Circle(DUOMO, radius_m=500),
        Box(45.460, 9.186, 45.466, 9.196),
        Polygon(((45.459, 9.187), (45.470, 9.190), (45.462, 9.199))),
        Box(45.465, 9.19, 90.0, 9.2),
    ),
)
SEAM = ZoneSet(
    ("circle", "box", "polygon", "beside"),
    (
        Circle(Point(10.0, 179.999), radius_m=600),
        Box(9.998, 179.998, 10.002, -179.998),
        Polygon(((9.997, 179.997), (10.003, 180.001), (9.999, 180.003))),
        Box(9.999, 179.9, 10.001, 179.9985),
    ),
)

Told = tuple[str, str, str | None, int, int | None, str]


def told(event: FenceEvent) -> Told:
    since = None if event.since is None else micros_of(event.since)
    return event.kind, event.thing, event.zone, micros_of(event.at), since, event.reason


@dataclass
class Model:
    """One thing and one zone, as the manual says it."""

    zone: str | None
    area: Area
    plan: BorderPlan
    time: int | None = None
    place: Point | None = None
    since: int | None = None
    is_inside: bool = False
    dwelt: bool = False
    out: list[Told] = field(default_factory=list)

    def tell(self, kind: str, at: int, since: int | None, reason: str = "moved") -> None:
        self.out.append((kind, "thing", self.zone, at, since, reason))

    def until(self, now: int) -> None:
        """What time alone brings."""
        dwell, silence = round(self.plan.dwell_s * SECOND), round(self.plan.silence_s * SECOND)
        gone = self.time is not None and self.time + silence < now
        end = self.time + silence if gone else now
        if self.is_inside and not self.dwelt and self.since + dwell <= end:
            self.dwelt = True
            self.tell("dwell", self.since + dwell, self.since)
        if gone:
            if self.is_inside:
                self.tell("leave", end, self.since, "silent")
            self.time, self.place, self.is_inside = None, None, False

    def at(self, place: Point, now: int) -> None:
        if self.time is not None and now < self.time:
            return
        self.until(now)
        inside = self.area.contains(place)
        if self.is_inside and not inside:
            if not self.area.comes_within(place, self.plan.hysteresis_m):
                self.is_inside = False
                self.tell("leave", now, self.since)
        elif not self.is_inside and inside:
            self.is_inside, self.since, self.dwelt = True, now, False
            self.tell("enter", now, None)
        elif (
            not self.is_inside
            and self.place is not None
            and goes_through(self.area, self.place, place)
        ):
            self.tell("cross", now, None)
        self.time, self.place = now, place


@st.composite
def tracks(draw: st.DrawFn, around: Point) -> list[tuple[int, Point]]:
    """Some places near the zones, sometimes late, sometimes after a long silence."""
    steps = draw(
        st.lists(
            st.tuples(
                st.sampled_from([-5, 0, 1, 20, 59, 60, 61, 119, 120, 121, 300]),
                st.floats(0, 360),
                st.one_of(st.floats(0, 1500), st.sampled_from([500.0, 510.0, 525.0, 530.0])),
            ),
            min_size=1,
            max_size=12,
        )
    )
    times = itertools.accumulate((step for step, _, _ in steps), initial=1000)
    places = [destination(around, bearing, length) for _, bearing, length in steps]
    return [(time * SECOND, place) for time, place in zip(times, places, strict=False)]


def by_model(zones: ZoneSet, track: list[tuple[int, Point]], end: int) -> list[Told]:
    models = [Model(name, area, ALL) for name, area in zones]
    for model in models:
        for time, place in track:
            model.at(place, time)
        model.until(end)
    return sorted((each for model in models for each in model.out), key=repr)


@pytest.mark.parametrize("zones", [ZONES, SEAM], ids=["plain", "seam"])
@given(data=st.data())
def test_events_are_those_of_the_model(zones: ZoneSet, data: st.DataObject) -> None:
    around = DUOMO if zones is ZONES else Point(10.0, 180.0)
    track = data.draw(tracks(around))
    end = max(time for time, _ in track) + data.draw(st.sampled_from([0, 61, 200])) * SECOND
    noted = [NotedPlace("thing", place.lat, place.lon, time) for time, place in track]
    at_once, singly = Border(zones, ALL), Border(zones, ALL)
    together = at_once.update(noted) + at_once.pass_time(end)
    one_by_one = []
    for each in noted:
        # Time may also pass before the next place is known, as long as it is not ahead of it.
        one_by_one += singly.update([each])
    one_by_one += singly.pass_time(end)
    assert sorted(map(told, together), key=repr) == by_model(zones, track, end)
    assert list(map(told, together)) == list(map(told, one_by_one))


@given(track=tracks(DUOMO))
def test_it_does_not_matter_whether_the_clock_or_a_message_shows_that_time_is_over(
    track: list[tuple[int, Point]],
) -> None:
    track.sort(key=lambda each: each[0])
    by_message, by_clock = Border(ZONES, ALL), Border(ZONES, ALL)
    heard, seen = [], []
    for time, place in track:
        noted = NotedPlace("thing", place.lat, place.lon, time)
        heard += by_message.update([noted])
        seen += by_clock.pass_time(time) + by_clock.update([noted])
    end = track[-1][0] + 1000 * SECOND
    heard, seen = heard + by_message.pass_time(end), seen + by_clock.pass_time(end)
    key = lambda each: (micros_of(each.at), each.kind, each.zone)  # noqa: E731
    assert sorted(heard, key=key) == sorted(seen, key=key)


@given(track=tracks(DUOMO), plan=st.sampled_from([ALL, BorderPlan(hysteresis_m=50)]))
def test_enter_and_leave_alternate(track: list[tuple[int, Point]], plan: BorderPlan) -> None:
    border = Border(ZONES, plan)
    events = border.update(
        [NotedPlace("thing", place.lat, place.lon, time) for time, place in track]
    )
    for name in ZONES.names:
        kinds = [e.kind for e in events if e.zone == name and e.kind in {"enter", "leave"}]
        assert kinds == [("enter", "leave")[number % 2] for number in range(len(kinds))]


@given(
    jitter=st.lists(st.floats(-24.9, 24.9).filter(lambda m: abs(m) > 1e-4), min_size=1, max_size=40)
)
def test_jitter_within_the_hysteresis_makes_no_event(jitter: list[float]) -> None:
    """Around a place on the edge: one enter at most, and never a leave."""
    border = Border(ZoneSet.given(Circle(DUOMO, radius_m=500)), ALL)
    places = [destination(DUOMO, 90, 500 + each) for each in jitter]
    events = border.update(
        [NotedPlace("t", p.lat, p.lon, i * SECOND) for i, p in enumerate(places)]
    )
    assert [event.kind for event in events] == ["enter"] * any(each <= 0 for each in jitter)


@given(data=st.data())
@examples(30)
def test_many_things_at_a_time_are_each_as_if_alone(data: st.DataObject) -> None:
    ways = data.draw(st.lists(tracks(DUOMO), min_size=2, max_size=5))
    mixed = sorted(
        (time, f"thing {number}", place)
        for number, way in enumerate(ways)
        for time, place in sorted(way, key=lambda each: each[0])
        for place in [(place.lat, place.lon)]
    )
    border = Border(ZONES, ALL)
    events = border.update([NotedPlace(name, *place, time) for time, name, place in mixed])
    for number in range(len(ways)):
        name = f"thing {number}"
        alone = Border(ZONES, ALL)
        mine = [NotedPlace(n, *place, time) for time, n, place in mixed if n == name]
        assert [e for e in events if e.thing == name] == alone.update(mine)


def noted(thing: str, place: Point, second: float) -> NotedPlace:
    return NotedPlace(thing, place.lat, place.lon, round(second * SECOND), f"at {second}")


def test_an_event_says_what_who_where_when_and_before() -> None:
    border = Border(ZoneSet(("centre",), (Circle(DUOMO, radius_m=500),)), ALL)
    outside = destination(DUOMO, 0, 2000)
    (enter,) = border.update([noted("bus", outside, 0), noted("bus", DUOMO, 10)])
    assert (enter.kind, enter.thing, enter.zone) == ("enter", "bus", "centre")
    assert (enter.location, enter.previous, enter.sample) == (DUOMO, outside, "at 10")
    (leave,) = border.update([noted("bus", outside, 20)])
    assert (leave.kind, leave.since, leave.reason) == ("leave", enter.at, "moved")


def test_a_jump_across_is_told_as_such() -> None:
    border = Border(ZoneSet.given(Circle(DUOMO, radius_m=500)), ALL)
    west, east = destination(DUOMO, 270, 900), destination(DUOMO, 90, 900)
    (event,) = border.update([noted("bus", west, 0), noted("bus", east, 5)])
    assert (event.kind, event.previous) == ("cross", west)
    north = destination(DUOMO, 0, 900)
    beside = [noted("tram", destination(west, 0, 900), 0), noted("tram", north, 5)]
    assert border.update(beside) == []


def test_who_falls_silent_leaves_and_is_forgotten() -> None:
    border = Border(ZoneSet.given(Circle(DUOMO, radius_m=500)), ALL)
    border.update([noted("bus", DUOMO, 0), noted("far", destination(DUOMO, 0, 9000), 0)])
    assert [e.kind for e in border.pass_time(119 * SECOND)] == ["dwell"]
    (leave,) = border.pass_time(121 * SECOND)
    assert (leave.kind, leave.reason, micros_of(leave.at)) == ("leave", "silent", 120 * SECOND)
    assert leave.sample is None
    assert len(border) == 0


def test_what_is_deleted_leaves() -> None:
    border = Border(ZoneSet.given(Circle(DUOMO, radius_m=500)), ALL)
    border.update([noted("bus", DUOMO, 10)])
    assert border.remove("bus", 5 * SECOND) == []  # older than what we know
    (leave,) = border.remove("bus", 20 * SECOND)
    assert (leave.kind, leave.reason) == ("leave", "deleted")
    assert border.remove("bus", 30 * SECOND) == []


def test_resuming_invents_no_events() -> None:
    border = Border(ZoneSet.given(Circle(DUOMO, radius_m=500)), ALL)
    border.resume([noted("bus", DUOMO, 0), noted("tram", destination(DUOMO, 0, 900), 0)])
    assert list(border.inside()) == [("bus", None)]
    events = border.update([noted("bus", DUOMO, 100), noted("tram", DUOMO, 100)])
    assert [(e.kind, e.thing) for e in events] == [("enter", "tram")]
    (leave,) = border.update([noted("bus", destination(DUOMO, 0, 900), 110)])
    assert (leave.kind, leave.since) == ("leave", None)
    border.resume([noted("bus", DUOMO, 50)])  # older than what we know
    assert list(border.inside()) == [("tram", None)]


def test_a_zone_that_moves_meets_things() -> None:
    border = Border(ZoneSet.given(Circle(DUOMO, radius_m=500)), ALL)
    far = destination(DUOMO, 90, 3000)
    border.update([noted("bus", DUOMO, 0), noted("tram", far, 0)])
    events = border.move_zone(Circle(far, radius_m=500), 30 * SECOND)
    assert [(e.kind, e.thing) for e in events] == [("leave", "bus"), ("enter", "tram")]
    assert border.move_zone(Circle(destination(far, 0, 510), radius_m=500), 40 * SECOND) == []


def test_only_wanted_events_are_told() -> None:
    border = Border(ZoneSet.given(Everywhere()), BorderPlan(on=["leave"], silence_s=10))
    assert border.update([noted("bus", DUOMO, 0)]) == []
    assert [e.kind for e in border.pass_time(11 * SECOND)] == ["leave"]


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"on": ["arrive"]}, "arrive"),
        ({"on": []}, "at least one"),
        ({"on": ["dwell"]}, "belong together"),
        ({"dwell_s": 5}, "belong together"),
        ({"silence_s": 0}, "silence_s"),
        ({"hysteresis_m": -1}, "hysteresis_m"),
    ],
)
def test_plans_that_cannot_be_are_refused(options: dict[str, object], wrong: str) -> None:
    with pytest.raises(FenceError, match=wrong):
        BorderPlan(**options)  # type: ignore[arg-type]

"""The machine at the border: places and times of things in, events out. No clock, no network."""

from __future__ import annotations

import copy
import heapq
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal.border.events import BorderPlan, FenceEvent, moment
from zonal.border.meeting import Steps, ZoneIndex
from zonal.border.things import (
    NOWHERE,
    KeptThing,
    NotedPlace,
    Stay,
    ThingStep,
    WatchedThing,
    point_of,
)
from zonal.geo import EARTH_RADIUS_M, Point

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from zonal.border.zone_set import ZoneSet
    from zonal.geo import Area, Box

_MICROS = 1_000_000


class Border:
    """The state of all things at all zones.

    For each thing and zone, `enter` and `leave` alternate. What it tells depends on the places and
    times of a thing alone, not on when it is asked: places older than the last one of their thing
    are left out, and what a time brings (`dwell`, silence) happens at that time. Not for several
    threads at once.
    """

    def __init__(self, zones: ZoneSet, plan: BorderPlan) -> None:
        self.zones = zones
        self.plan = plan
        self._areas = list(zones.areas)
        self._index = ZoneIndex(self._areas)
        self._things: dict[str, WatchedThing] = {}
        self._wanted = frozenset(plan.on)
        self._dwell = None if plan.dwell_s is None else round(plan.dwell_s * _MICROS)
        self._silence = None if plan.silence_s is None else round(plan.silence_s * _MICROS)
        self._near = [_near_box(area, plan.hysteresis_m) for area in self._areas]
        self._deadlines: list[tuple[int, int, WatchedThing, int | None, Stay | None]] = []
        self._number = itertools.count()
        self.late = 0
        """Places that were older than what was known already."""

    def __len__(self) -> int:
        return len(self._things)

    def inside(self) -> Iterator[tuple[str, str | None]]:
        """The things that are in a zone now, with its name."""
        for thing in self._things.values():
            for row in thing.stays:
                yield thing.name, self.zones.names[row]

    def quiet(self, before: int) -> list[str]:
        """The things in a zone that were not heard of since this time."""
        return [
            thing.name
            for thing in self._things.values()
            if thing.stays and thing.time is not None and thing.time < before
        ]

    # For those who keep the state of things themselves

    def fresh(self) -> Border:
        """A border with the same zones that knows no things; quicker than a new one."""
        other = copy.copy(self)
        other._things, other._deadlines, other.late = {}, [], 0  # noqa: SLF001  (its own class)
        return other

    def keep(self, thing: str) -> KeptThing | None:
        """What is known of a thing; None where it is forgotten."""
        known = self._things.get(thing)
        if known is None or known.time is None:
            return None
        stays = [(row, stay.since, stay.dwelt) for row, stay in sorted(known.stays.items())]
        return KeptThing(known.time, known.lat, known.lon, stays)

    def take_up(self, name: str, kept: KeptThing) -> None:
        """Go on with a thing as it was kept."""
        thing = self._things[name] = WatchedThing(name)
        thing.time, thing.lat, thing.lon = kept.time, kept.lat, kept.lon
        if self._silence is not None:
            self._remind(kept.time + self._silence, thing)
        for row, since, dwelt in kept.stays:
            stay = thing.stays[row] = Stay(since)
            stay.dwelt = dwelt
            if self._dwell is not None and since is not None and not dwelt:
                self._remind(since + self._dwell, thing, row, stay)

    @property
    def next_deadline(self) -> int | None:
        """When time alone may bring the next event; None: never."""
        return self._deadlines[0][0] if self._deadlines else None

    # What comes in

    def update(self, places: Iterable[NotedPlace]) -> list[FenceEvent]:
        """Things are here now: what happened at the border, in the order of the places."""
        steps = [step for each in places if (step := self._step(each)) is not None]
        if not steps:
            return []
        inside, passed = self._meet(steps, ways="cross" in self._wanted)
        events: list[FenceEvent] = []
        none: list[int] = []
        for number, step in enumerate(steps):
            rows = inside.get(number, none)
            if rows or step.thing.stays or number in passed:
                self._pass(step, rows, passed.get(number, none), events)
        return events

    def resume(self, places: Iterable[NotedPlace]) -> None:
        """Things were here when we began to watch: no events, and nobody knows since when."""
        steps = []
        for each in places:
            known = self._things.get(each.thing)
            if known is None or (known.time is not None and known.time < each.time):
                step = self._step(each)
                if step is not None:
                    steps.append(step)
        inside, _ = self._meet(steps, ways=False) if steps else ({}, {})
        for number, rows in inside.items():
            for row in rows:
                steps[number].thing.stays.setdefault(row, Stay(None))

    def remove(self, thing: str, time: int, sample: Any = None) -> list[FenceEvent]:
        """The thing is no more: it leaves every zone."""
        known = self._things.get(thing)
        if known is None or (known.time is not None and known.time > time):
            return []
        events: list[FenceEvent] = []
        self._settle(known, known.time, time, events)
        for row in sorted(known.stays):
            self._leave(known, row, time, "deleted", None, sample, events)
        del self._things[thing]
        return events

    def pass_time(self, now: int) -> list[FenceEvent]:
        """Nothing came until this time: who has stayed long enough, or fallen silent."""
        events: list[FenceEvent] = []
        due = self._deadlines
        while due and due[0][0] < now:
            _, _, thing, row, stay = heapq.heappop(due)
            if row is None:
                self._look_at_silence(thing, now, events)
            elif thing.stays.get(row) is stay:
                self._settle(thing, thing.time, now, events)
        return events

    def move_zone(self, area: Area, time: int) -> list[FenceEvent]:
        """The one zone is elsewhere now: who has come near, and who is left behind."""
        self._areas[0] = area
        self._index = ZoneIndex(self._areas)
        self._near[0] = _near_box(area, self.plan.hysteresis_m)
        events: list[FenceEvent] = []
        things = [thing for thing in self._things.values() if thing.time is not None]
        inside = area.contains_many([t.lat for t in things], [t.lon for t in things]).tolist()
        for thing, is_inside in zip(things, inside, strict=True):
            if not (is_inside or thing.stays):
                continue
            when = max(time, thing.time or time)
            self._settle(thing, thing.time, when, events)
            if is_inside and 0 not in thing.stays:
                self._enter(thing, 0, when, thing.place, None, events)
            elif not is_inside and 0 in thing.stays and self._has_left(0, thing.lat, thing.lon):
                self._leave(thing, 0, when, "moved", thing.place, None, events)
        return events

    # One thing's step

    def _step(self, noted: NotedPlace) -> ThingStep | None:
        """Note where a thing is; None where that is older than what is known."""
        thing = self._things.get(noted.thing)
        if thing is None:
            thing = self._things[noted.thing] = WatchedThing(noted.thing)
            if self._silence is not None:
                self._remind(noted.time + self._silence, thing)
        before = thing.time
        if before is not None and noted.time < before:
            self.late += 1
            return None
        from_lat, from_lon = old_lat, old_lon = thing.lat, thing.lon
        if before is not None and before + (self._silence or math.inf) < noted.time:
            from_lat = from_lon = NOWHERE  # it was gone meanwhile
        thing.time, thing.lat, thing.lon = noted.time, noted.lat, noted.lon
        return ThingStep(thing, noted, before, old_lat, old_lon, from_lat, from_lon)

    def _meet(
        self, steps: Sequence[ThingStep], *, ways: bool
    ) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        lats = np.array([step.noted.lat for step in steps])
        lons = np.array([step.noted.lon for step in steps])
        from_lats = np.array([step.from_lat for step in steps])
        from_lons = np.array([step.from_lon for step in steps])
        inside, passed = self._index.meet(Steps(lats, lons, from_lats, from_lons), ways=ways)
        return _grouped(*inside), _grouped(*passed)

    def _pass(
        self, step: ThingStep, rows: list[int], passed: list[int], events: list[FenceEvent]
    ) -> None:
        thing, noted = step.thing, step.noted
        stays = thing.stays
        if stays:
            passed = [row for row in passed if row not in stays]
            place = point_of(step.old_lat, step.old_lon)
            self._settle(thing, step.before, noted.time, events, place)
            for row in sorted(stays):
                if row not in rows and self._has_left(row, noted.lat, noted.lon):
                    self._leave(
                        thing, row, noted.time, "moved", step.previous, noted.sample, events
                    )
        for row in sorted(passed):
            self._tell("cross", thing, row, noted.time, events, None, step.previous, noted.sample)
        for row in sorted(rows):
            if row not in stays:
                self._enter(thing, row, noted.time, step.previous, noted.sample, events)

    def _has_left(self, row: int, lat: float, lon: float) -> bool:
        """Whether a place outside a zone is farther from it than the hysteresis."""
        if not self.plan.hysteresis_m:
            return True
        near = self._near[row]
        place = Point(lat, lon)
        if near is not None and not near.contains(place):
            return True
        return not self._areas[row].comes_within(place, self.plan.hysteresis_m)

    # Time

    def _settle(
        self,
        thing: WatchedThing,
        heard: int | None,
        now: int,
        events: list[FenceEvent],
        place: Point | None = None,
    ) -> None:
        """What time alone has brought to a thing that was heard at one time, until another."""
        end = now
        silent = self._silence is not None and heard is not None and heard + self._silence < now
        if silent:
            assert heard is not None
            assert self._silence is not None
            end = heard + self._silence
        place = place or thing.place
        if self._dwell is not None:
            for row, stay in sorted(thing.stays.items()):
                if not stay.dwelt and stay.since is not None and stay.since + self._dwell <= end:
                    stay.dwelt = True
                    when = stay.since + self._dwell
                    self._tell("dwell", thing, row, when, events, stay.since, location=place)
        if silent:
            for row in sorted(thing.stays):
                since = thing.stays.pop(row).since
                self._tell("leave", thing, row, end, events, since, location=place, reason="silent")

    def _look_at_silence(self, thing: WatchedThing, now: int, events: list[FenceEvent]) -> None:
        if self._things.get(thing.name) is not thing:
            return
        assert self._silence is not None
        assert thing.time is not None
        if thing.time + self._silence >= now:
            self._remind(thing.time + self._silence, thing)
            return
        self._settle(thing, thing.time, now, events)
        del self._things[thing.name]

    def _remind(
        self, when: int, thing: WatchedThing, row: int | None = None, stay: Stay | None = None
    ) -> None:
        heapq.heappush(self._deadlines, (when, next(self._number), thing, row, stay))

    # What goes out

    def _enter(
        self,
        thing: WatchedThing,
        row: int,
        time: int,
        previous: Point | None,
        sample: Any,
        events: list[FenceEvent],
    ) -> None:
        stay = thing.stays[row] = Stay(time)
        if self._dwell is not None:
            self._remind(time + self._dwell, thing, row, stay)
        self._tell("enter", thing, row, time, events, None, previous, sample)

    def _leave(
        self,
        thing: WatchedThing,
        row: int,
        time: int,
        reason: str,
        previous: Point | None,
        sample: Any,
        events: list[FenceEvent],
    ) -> None:
        since = thing.stays.pop(row).since
        self._tell("leave", thing, row, time, events, since, previous, sample, reason)

    def _tell(
        self,
        kind: str,
        thing: WatchedThing,
        row: int,
        time: int,
        events: list[FenceEvent],
        since: int | None = None,
        previous: Point | None = None,
        sample: Any = None,
        reason: str = "moved",
        location: Point | None = None,
    ) -> None:
        if kind in self._wanted:
            came = None if since is None else moment(since)
            name, place = self.zones.names[row], location or thing.place
            events.append(
                FenceEvent(
                    kind, thing.name, name, moment(time), came, place, previous, reason, sample
                )
            )


def _grouped(steps: Any, rows: Any) -> dict[int, list[int]]:
    """The zones of each step that has any."""
    groups: dict[int, list[int]] = {}
    for step, row in zip(steps.tolist(), rows.tolist(), strict=True):
        if step in groups:
            groups[step].append(row)
        else:
            groups[step] = [row]
    return groups


def _near_box(area: Area, hysteresis_m: float) -> Box | None:
    """A box beyond which nothing is within the hysteresis; None where a box is of no use."""
    if area.is_ego_centric:
        return None
    box = area.bounds
    degrees = math.degrees(hysteresis_m / EARTH_RADIUS_M) * 1.01
    highest = max(abs(box.min_lat), abs(box.max_lat)) + degrees
    if highest >= 89.0:
        return None
    return box.expanded(degrees / math.cos(math.radians(highest)))

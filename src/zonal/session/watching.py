"""The part of a session that watches borders."""

from __future__ import annotations

import logging
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import zenoh

from zonal.border import BorderPlan, ZoneSet
from zonal.errors import ClosedError, FenceError, ZonalError
from zonal.geo import Circle
from zonal.keys import check_topic
from zonal.runtime import DEFAULT_CAPACITY, Overflow
from zonal.session.fence import Fence, FenceSubscriber
from zonal.session.given import check_handler
from zonal.session.querier import GetOptions, ask
from zonal.session.subscriber import SubscriberOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from zonal.border import FenceEvent, GivenZones
    from zonal.geo import Area
    from zonal.runtime import Chores
    from zonal.session.parts import SessionParts
    from zonal.session.replies import Replies
    from zonal.session.sample import Sample
    from zonal.session.subscriber import Subscriber

logger = logging.getLogger(__name__)

REACH_M = 500.0
"""How wide the ring around zones is, unless asked otherwise."""
RESUME_S = 5.0
"""How long stores are waited for when a fence begins."""
_TICK_S = 0.2


class Watching:
    """Fences."""

    _parts: SessionParts
    _clock: FenceClock | None = None

    def _check_open(self) -> None:
        raise NotImplementedError

    def _subscribe(self, kind: Callable[..., Any], key: str, options: SubscriberOptions) -> Any:
        raise NotImplementedError

    def declare_fence(
        self,
        key: str,
        area: GivenZones,
        handler: Callable[[FenceEvent], Any] | None = None,
        *,
        on: Sequence[str] = ("enter", "leave"),
        dwell_s: float | None = None,
        hysteresis_m: float = 0.0,
        silence_s: float | None = None,
        reach_m: float | None = None,
        resume: bool = True,
        ask_s: float | None = 30.0,
        name_of: Callable[[Sample], str] | None = None,
        encoding: str | Iterable[str] | None = None,
        capacity: int = DEFAULT_CAPACITY,
        overflow: Overflow = Overflow.DROP_OLDEST,
    ) -> Fence:
        """Events at the border of an area: who comes in, leaves, jumps across, or stays.

        `area` is any shape; a `Circle` without a centre, which follows the session's position (who
        comes near me?); or zones with names: a dictionary, or a GeoJSON collection. A thing is
        what speaks under one key, or what `name_of` calls it.

        It enters where it is inside or on the edge, leaves where it is farther than `hysteresis_m`
        outside, and dwells after `dwell_s` inside, once a stay. Who was not heard of for
        `silence_s` has left. Messages come from the zones and from `reach_m` metres around them
        (500 m, or twice the hysteresis): a step that ends farther away is not heard, so that
        stores are asked after `ask_s` where a thing is. With `resume`, stores say what is inside
        when it begins, and that makes no events.
        """
        self._check_open()
        check_handler(handler)
        zones = ZoneSet.given(area)
        plan = BorderPlan(tuple(on), dwell_s, hysteresis_m, silence_s)
        reach = max(REACH_M, 2 * hysteresis_m) if reach_m is None else reach_m
        if reach < hysteresis_m:
            raise FenceError(f"reach_m {reach} is less than hysteresis_m {hysteresis_m}")
        self._parts.position.look(required=zones.is_ego_centric)
        fence = Fence(
            check_topic(key),
            zones,
            plan,
            self._parts.position,
            name_of=name_of,
            ask_s=ask_s,
            capacity=capacity,
            overflow=overflow,
            on_close=self._forget_fence,
        )
        if handler is not None:
            fence.call(handler, self._parts.threads)
        around = _around(zones, reach)
        kinds = self._parts.encodings_for(around, encoding)
        options = SubscriberOptions(
            area=around,
            encodings=kinds,
            fenced=True,
            margin_m=None,
            capacity=capacity,
            overflow=overflow,
        )
        subscriber: Subscriber = self._subscribe(
            partial(FenceSubscriber, take=fence.take), key, options
        )
        known: Iterable[Sample] = ()
        if resume:
            known = self._ask_stores(key, GetOptions(around, kinds, RESUME_S))
        fence.begin(subscriber, known)
        self._parts.followers.add(fence)
        if self._clock is None:
            self._clock = FenceClock(self._parts.chores, self._look_for)
        self._clock.add(fence)
        return fence

    def _ask_stores(self, key: str, options: GetOptions) -> Replies:
        return ask(self._parts, key, options, None, None)

    def _look_for(self, fence: Fence, key: str) -> None:
        """Ask where a thing is that has not been heard of for long."""
        options = GetOptions(None, self._parts.encodings_for(None, None), RESUME_S)
        self._ask_stores(key, options).call(lambda reply: fence.take([reply]))

    def _forget_fence(self, fence: Fence) -> None:
        self._parts.followers.forget(fence)
        if self._clock is not None:
            self._clock.forget(fence)


class FenceClock:
    """Tells all fences of a session that time passes."""

    def __init__(self, chores: Chores, look_for: Callable[[Fence, str], None]) -> None:
        self._look_for = look_for
        self._lock = threading.Lock()
        self._fences: dict[Fence, None] = {}
        self._chore = chores.new("telling fences the time", self._tick_all)

    def add(self, fence: Fence) -> None:
        """Take one in."""
        with self._lock:
            self._fences[fence] = None
        self._chore.due_within(_TICK_S)

    def forget(self, fence: Fence) -> None:
        """Leave one out."""
        with self._lock:
            self._fences.pop(fence, None)

    def _tick_all(self) -> float | None:
        with self._lock:
            fences = list(self._fences)
        for fence in fences:
            self._tick(fence)
        return _TICK_S if fences else None

    def _tick(self, fence: Fence) -> None:
        try:
            for key in fence.tick(time.time()):
                self._look_for(fence, key)
        except ClosedError:
            return
        except (ZonalError, zenoh.ZError) as error:
            logger.warning("%r could not ask where things have gone: %s", fence, error)


def _around(zones: ZoneSet, reach_m: float) -> Area:
    """Where messages are heard from: the zones and a ring around them."""
    only = zones.areas[0]
    if isinstance(only, Circle) and only.is_ego_centric:
        return Circle(radius_m=only.radius_m + reach_m)
    return zones.within(reach_m)

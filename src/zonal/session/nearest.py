"""The nearest things to a place: asked ring by ring outward, until there are enough."""

from __future__ import annotations

import heapq
import itertools
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from zonal.errors import ClosedError, GeometryError, ZonalError
from zonal.geo import HALF_CIRCUMFERENCE_M, Area, Circle, Everywhere, Point
from zonal.runtime import Callback, Mailbox, Overflow
from zonal.session.given import check_length
from zonal.session.sample import Sample

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterator

    from zonal.runtime import CallbackThreads
    from zonal.session.replies import Replies, ReplyFailure

logger = logging.getLogger(__name__)

FIRST_RING_M = 1000.0
GROWTH = 4.0


class NearSample(Sample, kw_only=True):
    """An answer, and how far away it is; of a blurred place its middle."""

    distance_m: float
    """Metres on the sphere."""

    @classmethod
    def of(cls, sample: Sample, distance_m: float) -> Self:
        """The answer with its distance."""
        return cls(
            sample.zenoh, sample.payload, sample.place, sample.context, distance_m=distance_m
        )


class Neighbours:
    """The nearest `count` things, nearest first; iterate with `for` or `async for`.

    Each ring is asked when it is needed: first a circle of a kilometre, then rings that reach four
    times as far. A store answers with the nearest of a ring only, and with no more than are still
    missing; of those who answer everything, the rest is left out here.
    """

    def __init__(
        self,
        ask: Callable[[Area, str], Replies],
        count: int,
        to: Point,
        within_m: float | None,
        *,
        name: str,
        threads: CallbackThreads,
    ) -> None:
        if not isinstance(count, int) or count < 1:
            raise GeometryError(f"nearest= is a whole number of at least 1, not {count!r}")
        self._ask = ask
        self._count = count
        self._to = to
        check_length("within_m", within_m)
        self._within_m = HALF_CIRCUMFERENCE_M if within_m is None else within_m
        self._name = name
        self._threads = threads
        self._callback: Callback[NearSample] | None = None
        self.failures: list[ReplyFailure] = []
        """Errors that were replied so far."""
        self.rings = 0
        """How many rings were asked so far."""

    def __iter__(self) -> Iterator[NearSample]:
        rings, answers = self._rings(), None
        try:
            while True:
                replies = next(rings) if answers is None else rings.send(answers)
                answers = list(replies)
        except StopIteration as end:
            return iter(end.value)

    async def __aiter__(self) -> AsyncIterator[NearSample]:
        rings, answers, found = self._rings(), None, []
        try:
            while True:
                replies = next(rings) if answers is None else rings.send(answers)
                answers = await replies.gather()
        except StopIteration as end:
            found = end.value
        for each in found:
            yield each

    def call(self, handler: Callable[[NearSample], Any]) -> None:
        """Hand every one to a callback, nearest first, in threads of the session's own."""
        found: Mailbox[NearSample] = Mailbox(self._count, Overflow.BLOCK, name=self._name)
        self._callback = Callback(self._name, handler, found, self._threads)
        self._threads.run(partial(self._offer_all, self._callback))

    @property
    def callback_errors(self) -> int:
        """How often the callback raised."""
        return 0 if self._callback is None else self._callback.errors

    def _offer_all(self, callback: Callback[NearSample]) -> None:
        try:
            callback.offer(list(self))
        except ClosedError:
            return  # the session was closed before all were found
        except ZonalError as error:
            logger.warning("%s: %s", self._name, error)

    def _rings(self) -> Generator[Replies, list[Sample], list[NearSample]]:
        """Gives the question of each ring and takes its answers; returns what was found."""
        found: list[NearSample] = []
        beyond_m = -1.0
        for radius_m in _radii(self._within_m):
            area: Area = Circle(self._to, radius_m=radius_m)
            if radius_m >= HALF_CIRCUMFERENCE_M:
                area = Everywhere()
            missing = self._count - len(found)
            lat, lon = map(float, self._to)  # numbers of numpy write themselves otherwise
            replies = self._ask(
                area, f"_nearest={missing};_to={lat!r},{lon!r};_beyond={beyond_m!r}"
            )
            self.rings += 1
            answers = yield replies
            self.failures += replies.failures
            near = (self._measured(each) for each in answers)
            new = [each for each in near if each and beyond_m < each.distance_m <= radius_m]
            found += heapq.nsmallest(missing, new, key=lambda each: (each.distance_m, each.key))
            if len(found) >= self._count:
                break
            beyond_m = radius_m
        return found

    def _measured(self, sample: Sample) -> NearSample | None:
        place = sample.location
        return None if place is None else NearSample.of(sample, place.distance_m(self._to))


def _radii(within_m: float) -> Iterator[float]:
    """How far the rings reach; the last one as far as asked for."""
    for power in itertools.count():
        radius_m = FIRST_RING_M * GROWTH**power
        if radius_m >= within_m:
            yield within_m
            return
        yield radius_m

"""Where the session is: a position handler with a lifetime, or a fixed place."""

from __future__ import annotations

import logging
import math
import threading
import time
from typing import TYPE_CHECKING, TypeAlias

from zonal.errors import GeometryError, PositionError
from zonal.geo import GivenPoint, Point, as_point

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.geo import Area
    from zonal.trust import Attestation

logger = logging.getLogger(__name__)

PositionHandler: TypeAlias = "Callable[[], GivenPoint]"
"""Asked for the current position: returns a `Point`, or latitude and longitude."""

TOO_OLD_LIFETIMES = 3.0
"""A last good position is used for so many lifetimes while the handler fails."""


class Position:
    """The last known position and the handler that renews it (Visotto 2023, 4.2.1 and 6.3).

    A *physical* position comes from a handler and is asked anew when its lifetime is over; a
    *virtual* one is a fixed `Point` and lives for ever. While a handler raises or returns
    nonsense, the last good position stands in until it is `TOO_OLD_LIFETIMES` lifetimes old.
    """

    def __init__(
        self,
        source: PositionHandler | GivenPoint | None = None,
        lifetime: float = math.inf,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._point: Point | None = None
        self._read_at = -math.inf
        self.failures = 0
        self.attestation: Attestation | None = None
        """What somebody whom we trust says of it."""
        self._handler: PositionHandler | None = None
        self._lifetime = math.inf
        self.declare(source, lifetime)

    def declare(self, source: PositionHandler | GivenPoint | None, lifetime: float) -> None:
        """Replace the source; what was known from the old one is forgotten."""
        handler = source if callable(source) else None
        point = None if source is None or callable(source) else _fixed(source)
        with self._lock:
            self.lifetime = lifetime
            self._handler = handler
            self._point, self._read_at = point, -math.inf

    @property
    def lifetime(self) -> float:
        """How long a position is valid, in seconds."""
        return self._lifetime

    @lifetime.setter
    def lifetime(self, lifetime: float) -> None:
        if not lifetime >= 0:
            raise PositionError(f"a lifetime is a number of seconds, 0 or more, not {lifetime!r}")
        self._lifetime = float(lifetime)

    @property
    def is_known(self) -> bool:
        """Whether there is a source at all."""
        return self._handler is not None or self._point is not None

    @property
    def moves(self) -> bool:
        """Whether the position is asked anew from time to time."""
        return self._handler is not None and math.isfinite(self._lifetime)

    @property
    def last(self) -> Point | None:
        """The last good position, without asking the handler."""
        return self._point

    def is_in(self, fence: Area, *, attested: bool = False) -> bool:
        """Whether the last good position is inside; with `attested` somebody must vouch for it."""
        if self._point is None or not fence.contains(self._point):
            return False
        if not attested:
            return True
        found = self.attestation
        return found is not None and found.holds_in(fence, time.time())

    def current(self, *, renew: bool = False) -> Point:
        """The position, asked anew when its lifetime is over (or when `renew` says so)."""
        with self._lock:
            if self._handler is None:
                if self._point is None:
                    raise PositionError(
                        "a position is needed; give zonal.open() a position (a Point or a "
                        "handler), call declare_position_handler(), or pass location="
                    )
                return self._point
            age = self._clock() - self._read_at
            if renew or self._point is None or age > self._lifetime:
                self._ask(self._handler, age)
            assert self._point is not None
            return self._point

    def look(self, *, required: bool) -> None:
        """See to it that a position is known, if there is a source; else only where `required`."""
        if not required and (self._point is not None or not self.is_known):
            return
        try:
            self.current()
        except PositionError as error:
            if required:
                raise
            logger.warning("no position yet: %s", error)

    def _ask(self, handler: PositionHandler, age: float) -> None:
        try:
            self._point = as_point(handler())
            self._read_at = self._clock()
        except Exception as error:  # whatever a user's handler raises
            self.failures += 1
            logger.warning("the position handler failed: %s: %s", type(error).__name__, error)
            if self._point is None:
                raise PositionError(
                    f"the position handler failed and no position is known yet: {error}"
                ) from error
            if age > TOO_OLD_LIFETIMES * self._lifetime:
                raise PositionError(
                    f"the position handler failed, and the last good position is {age:.1f} s old "
                    f"(lifetime {self._lifetime:g} s): {error}"
                ) from error


def _fixed(source: GivenPoint) -> Point:
    try:
        return as_point(source)
    except GeometryError as error:
        raise PositionError(f"a position is a point or a callable: {error}") from error

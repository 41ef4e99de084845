"""What a session has declared and has to close, and that of it that follows the position."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Protocol

import zenoh

from zonal.errors import ZonalError
from zonal.runtime import close_all

if TYPE_CHECKING:
    from zonal.geo import GivenPoint, Point
    from zonal.runtime import Chores
    from zonal.session.position import Position, PositionHandler

logger = logging.getLogger(__name__)

_SLOWEST_STEP_S = 60.0
_FASTEST_STEP_S = 0.05


class Follower(Protocol):
    """A subscriber, queryable or token as the session sees it."""

    def __hash__(self) -> int: ...

    @property
    def follows_position(self) -> bool:
        """Whether moving changes anything for it."""

    def move(self) -> None:
        """Follow the position."""

    def undeclare(self) -> None:
        """End."""


class Followers:
    """All of them; the position is asked for, as its lifetimes end, while one has to know it."""

    def __init__(self, position: Position, chores: Chores) -> None:
        self._position = position
        self._lock = threading.Lock()
        self._followers: dict[Follower, None] = {}
        self._chore = chores.new("following the position", self._follow)
        self._closed = False

    def __len__(self) -> int:
        return len(self._followers)

    def add(self, follower: Follower) -> None:
        """Take one in."""
        with self._lock:
            self._followers[follower] = None
        if self._position.moves and follower.follows_position:
            self._chore.due_within(self._step_s)

    def forget(self, follower: Follower) -> None:
        """It has ended."""
        with self._lock:
            self._followers.pop(follower, None)

    def update(self) -> Point:
        """Ask for the position now, and let all who follow it follow."""
        point = self._position.current(renew=True)
        for follower in self._following():
            try:
                follower.move()
            except (ZonalError, zenoh.ZError) as error:
                if self._closed:
                    break
                logger.warning("%r could not follow the position: %s", follower, error)
        return point

    def reckon(self) -> None:
        """The source of the position or its lifetime changed."""
        if self._position.moves and self._following():
            self._chore.due_in(self._step_s)

    @property
    def _step_s(self) -> float:
        return min(_SLOWEST_STEP_S, max(_FASTEST_STEP_S, self._position.lifetime))

    def _follow(self) -> float | None:
        """The position's lifetime is over; how long it is from now on."""
        if not (self._position.moves and self._following()):
            return None
        try:
            self.update()
        except (ZonalError, zenoh.ZError) as error:
            if not self._closed:
                logger.warning("could not follow the position: %s", error)
        return self._step_s

    def _following(self) -> list[Follower]:
        with self._lock:
            followers = list(self._followers)
        return [follower for follower in followers if follower.follows_position]

    def close(self) -> None:
        """Undeclare all."""
        self._closed = True
        with self._lock:
            followers = list(self._followers)
        close_all(follower.undeclare for follower in followers)


class Located:
    """The part of a session that knows where it is."""

    def __init__(self, position: Position, followers: Followers) -> None:
        self._position = position
        self._followers = followers

    def declare_position_handler(
        self, lifetime: float, handler: PositionHandler | GivenPoint
    ) -> None:
        """Where to ask for the position, and for how many seconds an answer is valid."""
        self._position.declare(handler, lifetime)
        self._followers.reckon()
        self.update_position()

    def set_position_lifetime(self, lifetime: float) -> None:
        """Change how long a position is valid, without touching the handler."""
        self._position.lifetime = lifetime
        self._followers.reckon()

    @property
    def position(self) -> Point | None:
        """The last known position."""
        return self._position.last

    @property
    def position_failures(self) -> int:
        """How often the position handler raised or returned nonsense."""
        return self._position.failures

    def update_position(self) -> Point:
        """Ask the handler now, and let everything that follows the position follow."""
        return self._followers.update()

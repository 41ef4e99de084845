"""What a session has declared and has to close, and that of it that follows the position."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Protocol

import zenoh

from zonal.errors import ZonalError
from zonal.runtime import close_all
from zonal.session.mover import Mover

if TYPE_CHECKING:
    from zonal.geo import GivenPoint, Point
    from zonal.session.position import Position, PositionHandler

logger = logging.getLogger(__name__)


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
    """All of them; a thread asks for the position while one of them needs to know."""

    def __init__(self, position: Position) -> None:
        self._position = position
        self._lock = threading.Lock()
        self._followers: dict[Follower, None] = {}
        self._mover = Mover(position, self.update)

    def __len__(self) -> int:
        return len(self._followers)

    def add(self, follower: Follower) -> None:
        """Take one in."""
        with self._lock:
            self._followers[follower] = None
        if follower.follows_position:
            self._mover.start()

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
                logger.warning("%r could not follow the position: %s", follower, error)
        return point

    def reckon(self) -> None:
        """The source of the position or its lifetime changed."""
        self._mover.wake()
        if self._following():
            self._mover.start()

    def _following(self) -> list[Follower]:
        with self._lock:
            followers = list(self._followers)
        return [follower for follower in followers if follower.follows_position]

    def close(self) -> None:
        """End the thread and undeclare all."""
        self._mover.close()
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

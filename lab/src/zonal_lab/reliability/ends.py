"""The two ends, on plain Zenoh or on our session, with or without recovery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import zenoh

import zonal
from zonal.geo import Circle, Point
from zonal.session import Memory, Recovery
from zonal_lab.systems import guarantees, node_config

if TYPE_CHECKING:
    from collections.abc import Callable

DATA, ANSWERS = "lab/reliability/data", "lab/reliability/answers"
_AT = Point(45.4642, 9.1900)
_REACH_M = 2000.0


class ReliabilityEnd:
    """A session of either kind; the plain one beneath carries the answers of both kinds."""

    def __init__(self, stack: str, way: dict[str, Any]) -> None:
        self._stack = stack
        config = node_config(**way)
        self._session: Any
        if stack == "zenoh":
            self._session = self._plain = zenoh.open(config)
        else:
            self._session = zonal.open(config, position=_AT, insecure=True)
            self._plain = self._session.zenoh

    def data_outlet(self, *, reliable: bool, block: bool, cache: int) -> Callable[[bytes], None]:
        """How messages are sent."""
        given = guarantees(reliable=reliable, block=block)
        if self._stack == "recovery":
            # A heartbeat tells of a loss at the end of a burst.
            given["memory"] = Memory(cache=cache, heartbeat_s=0.1)
        publisher = self._session.declare_publisher(DATA, **given)
        put: Callable[[bytes], None] = publisher.put
        return put

    def hear_data(self, hear: Callable[[bytes], None]) -> None:
        """How messages are received."""
        given: dict[str, Any] = {}
        if self._stack != "zenoh":
            given["area"] = Circle(_AT, radius_m=_REACH_M)
        if self._stack == "recovery":
            given["recovery"] = Recovery()
        self._session.declare_subscriber(
            DATA, lambda sample: hear(sample.payload.to_bytes()), **given
        )

    def answer_outlet(self) -> Callable[[bytes], None]:
        """Two bytes back, reliable and blocking: answers are not what is tested."""
        publisher = self._plain.declare_publisher(ANSWERS, **guarantees(reliable=True, block=True))
        put: Callable[[bytes], None] = publisher.put
        return put

    def hear_answers(self, hear: Callable[[bytes], None]) -> None:
        """The answers."""
        self._plain.declare_subscriber(ANSWERS, lambda sample: hear(sample.payload.to_bytes()))

    def close(self) -> None:
        """Leave."""
        self._session.close()

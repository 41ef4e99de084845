"""Observations onto the network: each from its place, what has not changed only now and then."""

from __future__ import annotations

import time
from datetime import UTC
from typing import TYPE_CHECKING, Any

import zenoh

from zonal.keys import check_topic

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.feeds.observation import Observation
    from zonal.session import Session

REPEAT_S = 60.0
"""After so long a thing is told again though it did not change: for those who came meanwhile."""


class FeedPublisher:
    """Puts observations under a topic, as JSON with their `time` (RFC 3339)."""

    def __init__(
        self,
        session: Session,
        topic: str,
        *,
        repeat_s: float = REPEAT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._topic = check_topic(topic)
        self._repeat_s = repeat_s
        self._clock = clock
        self._last: dict[str, tuple[Observation, float]] = {}
        self.sent = 0
        self.unchanged = 0

    @property
    def things(self) -> int:
        """How many different things were seen."""
        return len(self._last)

    def put(self, seen: Observation) -> bool:
        """Publish, unless it is what was said last; whether it was published."""
        last, at = self._last.get(seen.name, (None, 0.0))
        now = self._clock()
        if last == seen and now - at < self._repeat_s:
            self.unchanged += 1
            return False
        self._last[seen.name] = (seen, now)
        key = f"{self._topic}/{seen.name}" if seen.name else self._topic
        self._session.put(
            key,
            value_of_observation(seen),
            location=seen.place,
            congestion_control=zenoh.CongestionControl.BLOCK,
        )
        self.sent += 1
        return True


def value_of_observation(seen: Observation) -> dict[str, Any]:
    """What is sent of an observation, its moment included."""
    if seen.moment is None:
        return dict(seen.value)
    told = seen.moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return {**seen.value, "time": told}

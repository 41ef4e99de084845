"""The last alerts, zones and answers, for pages that are opened after they came."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from zonal.trust import Action
from zonal.web.grants import Asked
from zonal.web.presentation import sample_to_dict

if TYPE_CHECKING:
    from zonal.session import Sample, Session
    from zonal.web.grants import WebGrant

KEPT = 1_000
"""Messages of each key; then the oldest are forgotten."""


class EventMemory:
    """Remembers the messages of a key expression, with geofences, from when it is made."""

    def __init__(self, session: Session, key: str) -> None:
        self.key = key
        self._kept: dict[str, deque[Sample]] = {}
        self._subscriber = session.declare_subscriber(key, self._take, fenced=True)

    def _take(self, sample: Sample) -> None:
        self._kept.setdefault(sample.key, deque(maxlen=KEPT)).append(sample)

    def events(self, grant: WebGrant) -> list[dict[str, Any]]:
        """What is remembered and may be seen, oldest first."""
        kept = [sample for samples in list(self._kept.values()) for sample in list(samples)]
        asked = Asked(Action.SUBSCRIBE, self.key)
        seen = (grant.sees(asked, sample) for sample in kept)
        shown = [sample_to_dict(sample) for sample in seen if sample is not None]
        return sorted(shown, key=lambda event: event["timestamp"] or "")

    def close(self) -> None:
        """Listen no more."""
        self._subscriber.undeclare()

"""How much is published on some topics, whoever wants it: what the map compares itself with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal.session import Sample, Session, Subscriber


def _counted(_: Sample) -> None:
    """The subscriber counts by itself; messages shall not wait for a reader."""


class Meter:
    """Counts the messages of topics on the whole network.

    It has to hear them all, so it is for demonstrations and measurements. Give it a session of
    its own: in a shared one, every area's subscriber would be counted all of this as received.
    """

    def __init__(self, session: Session, topics: Iterable[str]) -> None:
        self._subscribers: list[Subscriber] = [
            session.declare_subscriber(topic, _counted, fenced=True) for topic in topics
        ]

    @property
    def published(self) -> int:
        """Messages so far, each counted once."""
        counts = (subscriber.counters for subscriber in self._subscribers)
        return sum(count.received - count.duplicates - count.malformed for count in counts)

    def close(self) -> None:
        """Stop counting."""
        for subscriber in self._subscribers:
            subscriber.undeclare()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

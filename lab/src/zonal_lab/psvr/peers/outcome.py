"""What a publication costs, whichever way it is carried."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Message(NamedTuple):
    """One transmission; positions and end point where the scheme has a ring."""

    sender: int
    receiver: int
    position: int = 0
    goal: int = 0
    end: int = 0


class Outcome(NamedTuple):
    """What one publication cost, and how many hops away each receiver was (once per delivery)."""

    messages: list[Message]
    deliveries: list[tuple[int, int]]

    @property
    def hops(self) -> dict[int, int]:
        """Hops to each subscriber."""
        return dict(self.deliveries)


class Scheme(Protocol):
    """A way to bring a publication from a node to all subscribers of one channel."""

    def publish(self, publisher: int) -> Outcome:
        """Publish once."""

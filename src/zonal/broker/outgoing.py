"""Messages of QoS 1 and 2 on their way to clients, and what a store is told of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zonal.broker.message import Message

QUEUED, SENT, RELEASED = 0, 1, 2


@dataclass(slots=True, eq=False)
class Outgoing:
    """One message on its way to one client."""

    message: Message
    qos: int
    retain: bool
    identifiers: tuple[int, ...]
    share: str | None = None
    """The shared pattern it came by: another member takes it if this session ends."""
    packet_id: int = 0
    state: int = QUEUED
    number: int = 0
    """Its place in the session's order, for the store; 0 while the store does not have it."""


class OutgoingJournal:
    """The part of a `Journal` that sessions write themselves; this one keeps nothing."""

    def keep(self, client_id: str, entry: Outgoing) -> None:
        """A message waits for a session, or is under way to it."""

    def mark(self, client_id: str, entry: Outgoing) -> None:
        """A kept message changed its state."""

    def forget(self, client_id: str, entry: Outgoing) -> None:
        """A kept message was delivered or given up."""

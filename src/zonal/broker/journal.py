"""What a store must be told so that a broker can start again where it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from zonal.broker.message import Message
    from zonal.broker.session import ClientSession, Outgoing
    from zonal.broker.subscription import ClientSubscription


class Journal(Protocol):
    """Changes in the order they happen; nothing is promised to a client before `commit`."""

    def session(self, session: ClientSession) -> None:
        """A durable session was opened, changed or left by its client."""

    def end(self, client_id: str) -> None:
        """A session and everything in it is over."""

    def subscribe(self, subscription: ClientSubscription) -> None:
        """A subscription was made or replaced."""

    def unsubscribe(self, client_id: str, pattern: str) -> None:
        """A subscription was removed."""

    def retain(self, message: Message) -> None:
        """A message became its topic's retained message."""

    def clear(self, topic: str) -> None:
        """A topic has no retained message any more."""

    def keep(self, client_id: str, entry: Outgoing) -> None:
        """A message waits for a session, or is under way to it."""

    def mark(self, client_id: str, entry: Outgoing) -> None:
        """A kept message changed its state."""

    def forget(self, client_id: str, entry: Outgoing) -> None:
        """A kept message was delivered or given up."""

    def received(self, client_id: str, packet_id: int, code: int) -> None:
        """A QoS 2 message came in and was acted upon."""

    def released(self, client_id: str, packet_id: int) -> None:
        """The sender of a QoS 2 message released its identifier."""

    def commit(self) -> None:
        """Makes everything so far last, as the store promises."""


class NoJournal:
    """Keeps nothing: a broker without a data directory."""

    def session(self, session: ClientSession) -> None:
        """Keeps nothing."""

    def end(self, client_id: str) -> None:
        """Keeps nothing."""

    def subscribe(self, subscription: ClientSubscription) -> None:
        """Keeps nothing."""

    def unsubscribe(self, client_id: str, pattern: str) -> None:
        """Keeps nothing."""

    def retain(self, message: Message) -> None:
        """Keeps nothing."""

    def clear(self, topic: str) -> None:
        """Keeps nothing."""

    def keep(self, client_id: str, entry: Outgoing) -> None:
        """Keeps nothing."""

    def mark(self, client_id: str, entry: Outgoing) -> None:
        """Keeps nothing."""

    def forget(self, client_id: str, entry: Outgoing) -> None:
        """Keeps nothing."""

    def received(self, client_id: str, packet_id: int, code: int) -> None:
        """Keeps nothing."""

    def released(self, client_id: str, packet_id: int) -> None:
        """Keeps nothing."""

    def commit(self) -> None:
        """Keeps nothing."""

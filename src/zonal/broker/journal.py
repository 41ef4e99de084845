"""What a store must be told so that a broker can start again where it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.broker.outgoing import OutgoingJournal

if TYPE_CHECKING:
    from zonal.broker.message import Message
    from zonal.broker.session import ClientSession, ClientSubscription


class Journal(OutgoingJournal):
    """Takes changes in the order they happen; nothing is promised to a client before `commit`.

    This one keeps nothing, for a broker without a data directory. `StoredJournal` keeps what
    belongs to durable sessions, and retained messages.
    """

    def begin(self, session: ClientSession) -> None:
        """A session begins, or comes back from the store."""

    def session(self, session: ClientSession) -> None:
        """A session was opened, changed or left by its client."""

    def end(self, session: ClientSession) -> None:
        """A session and everything in it is over, or no longer durable."""

    def subscribe(self, subscription: ClientSubscription) -> None:
        """A subscription was made or replaced."""

    def unsubscribe(self, session: ClientSession, pattern: str) -> None:
        """A subscription was removed."""

    def retain(self, message: Message) -> None:
        """A message became its topic's retained message."""

    def clear(self, topic: str) -> None:
        """A topic has no retained message any more."""

    def received(self, session: ClientSession, packet_id: int, code: int) -> None:
        """A QoS 2 message came in and was acted upon."""

    def released(self, session: ClientSession, packet_id: int) -> None:
        """The sender of a QoS 2 message released its identifier."""

    def commit(self) -> None:
        """Makes everything so far last, as the store promises."""

    def size(self) -> int:
        """Bytes on the disk."""
        return 0

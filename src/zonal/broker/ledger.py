"""What is held for clients, in bytes: who wants more than there is room for is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zonal.broker.message import Message
    from zonal.broker.settings import Limits

SUBSCRIPTION, LEVEL = 1000, 300
"""Bytes that a subscription takes, and each level of its filter."""


def weight_of(pattern: str, area_length: int) -> int:
    """About how many bytes a subscription takes, with a geofence of so many characters."""
    return SUBSCRIPTION + LEVEL * pattern.count("/") + 2 * len(pattern) + 4 * area_length


class Ledger:
    """Counts messages that wait for sessions, each once, and subscriptions."""

    __slots__ = (
        "limits",
        "messages",
        "oldest_first",
        "queues_qos_0",
        "store_is_full",
        "subscriptions",
    )

    def __init__(
        self, limits: Limits, *, oldest_first: bool = False, queues_qos_0: bool = False
    ) -> None:
        self.limits = limits
        self.queues_qos_0 = queues_qos_0
        """Whether messages of QoS 0 wait for absent clients."""
        self.oldest_first = oldest_first
        """Whether a full queue loses its oldest message, not the new one."""
        self.messages = 0
        """Bytes of messages waiting for sessions or under way to them."""
        self.subscriptions = 0
        self.store_is_full = False
        """Whether nothing more may be kept on the disk."""

    def has_room(self, message: Message, *, durable: bool) -> bool:
        """Whether one more session may hold a message."""
        if durable and self.store_is_full:
            return False
        return message.holders > 0 or self.messages + message.size <= self.limits.queued_bytes

    def hold(self, message: Message, sessions: int = 1) -> None:
        """So many sessions more hold a message."""
        if message.holders == 0:
            self.messages += message.size
        message.holders += sessions

    def let_go(self, message: Message) -> None:
        """A session holds it no longer."""
        message.holders -= 1
        if message.holders == 0:
            self.messages -= message.size

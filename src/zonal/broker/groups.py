"""Shared groups with members at several brokers: each message is one broker's to deliver.

Every broker tells the others which groups have members with it, and whether any is connected. All
take the same list and the message's own number, and so agree who delivers it without asking.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zonal.broker.message import Message
    from zonal.broker.session import ClientSession, ClientSubscription


class Groups:
    """The groups of one broker, as a watcher of `Matching`, and what is known of the others'.

    Args:
        broker: this broker's number among those that share groups.
    """

    def __init__(self, broker: int) -> None:
        self._broker = broker
        self._members: dict[str, set[ClientSubscription]] = {}
        self.announced: dict[str, bool] = {}
        """What the others were told: by group, whether a member is connected."""
        self.elsewhere: dict[str, dict[int, bool]] = {}
        """The same of other brokers, by group and broker."""

    def added(self, subscription: ClientSubscription) -> None:
        """A subscription was made."""
        if subscription.group is not None:
            self._members.setdefault(name_of(subscription), set()).add(subscription)

    def removed(self, subscription: ClientSubscription) -> None:
        """A subscription is gone."""
        if subscription.group is not None:
            name = name_of(subscription)
            members = self._members.get(name, set())
            members.discard(subscription)
            if not members:
                self._members.pop(name, None)

    def moved(self, _: ClientSession) -> None:
        """A client is somewhere else, which changes no group."""

    def changes(self) -> dict[str, bool | None]:
        """What to tell the others: by group, whether a member is connected; None: no members."""
        now = {
            name: any(member.session.connection is not None for member in members)
            for name, members in self._members.items()
        }
        changed: dict[str, bool | None] = {
            name: state for name, state in now.items() if self.announced.get(name) is not state
        }
        changed.update((name, None) for name in self.announced.keys() - now.keys())
        self.announced = now
        return changed

    def is_ours(self, subscription: ClientSubscription, message: Message) -> bool:
        """Whether this broker delivers a group's message: brokers with connected members first."""
        name = name_of(subscription)
        others = self.elsewhere.get(name)
        if not others:
            return True
        known = dict(others)
        if name in self.announced:
            known[self._broker] = self.announced[name]
        candidates = sorted(broker for broker, connected in known.items() if connected)
        candidates = candidates or sorted(known)
        number = message.serial or zlib.crc32(message.topic.encode() + message.payload)
        return candidates[number % len(candidates)] == self._broker


def name_of(subscription: ClientSubscription) -> str:
    """A short name for a group and its filter."""
    text = f"{subscription.group}\0{subscription.filter}"
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()

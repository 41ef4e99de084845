"""The last message of each topic, kept for those who subscribe later (MQTT 5, 3.3.1.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.broker.journal import Journal

if TYPE_CHECKING:
    from zonal.broker.message import Message
    from zonal.broker.settings import Limits


LEVEL = 300
"""Bytes that a level of a topic takes."""


class Level:
    """One level of the tree of topics that have a retained message."""

    __slots__ = ("children", "message")

    def __init__(self) -> None:
        self.children: dict[str, Level] = {}
        self.message: Message | None = None


class Retained:
    """Retained messages by topic: here filters look for topics, the reverse of the index.

    Args:
        journal: is told what `publish` and `forget` change.
    """

    def __init__(self, journal: Journal | None = None) -> None:
        self._journal = journal or Journal()
        self._messages: dict[str, Message] = {}
        self._root = Level()
        self.size = 0
        """About how many bytes of memory they take."""

    def __len__(self) -> int:
        return len(self._messages)

    def has_room(self, message: Message, limits: Limits) -> bool:
        """Whether the limits allow one more, in the place of the topic's present one."""
        present = self._messages.get(message.topic)
        if present is None and len(self._messages) >= limits.maximum_retained:
            return False
        freed = 0 if present is None else _weight(present)
        return self.size - freed + _weight(message) <= limits.retained_bytes

    def publish(self, message: Message, now: float) -> None:
        """Sets or, with an empty payload, clears the topic's retained message (3.3.1.3)."""
        message.retained_at = now
        durable = not message.topic.startswith("$SYS/")
        if message.payload:
            self.put(message)
            if durable:
                self._journal.retain(message)
        elif self.remove(message.topic) and durable:
            self._journal.clear(message.topic)

    def forget(self, topic: str, when: float) -> None:
        """Another broker has the topic's retained message since then."""
        known = self.get(topic)
        if known is not None and known.retained_at < when:
            self.remove(topic)
            self._journal.clear(topic)

    def get(self, topic: str) -> Message | None:
        """The topic's retained message."""
        return self._messages.get(topic)

    def put(self, message: Message) -> None:
        """Replaces the topic's retained message."""
        present = self._messages.get(message.topic)
        self.size += _weight(message) - (0 if present is None else _weight(present))
        self._messages[message.topic] = message
        level = self._root
        for name in message.topic.split("/"):
            child = level.children.get(name)
            if child is None:
                child = level.children[name] = Level()
            level = child
        level.message = message

    def remove(self, topic: str) -> bool:
        """Removes the topic's retained message; whether there was one."""
        present = self._messages.pop(topic, None)
        if present is None:
            return False
        self.size -= _weight(present)
        path = []
        level = self._root
        for name in topic.split("/"):
            path.append((level, name))
            level = level.children[name]
        level.message = None
        for parent, name in reversed(path):
            child = parent.children[name]
            if child.children or child.message is not None:
                break
            del parent.children[name]
        return True

    def matching(self, topic_filter: str, now: float) -> list[Message]:
        """The retained messages whose topics a filter matches; expired ones are gone."""
        if not self._messages:
            return []
        levels = [self._root]
        for name in topic_filter.split("/"):
            if name == "#":
                for level in levels:  # those that are added are looked at as well
                    levels += self._below(level)
            elif name == "+":
                levels = [child for level in levels for child in self._below(level)]
            else:
                levels = [level.children[name] for level in levels if name in level.children]
        found = [level.message for level in levels if level.message is not None]
        for message in found:
            if message.expired(now):
                self.remove(message.topic)
        return [message for message in found if not message.expired(now)]

    def _below(self, level: Level) -> list[Level]:
        """The levels that a wildcard opens below one; never those of `$…` topics (4.7.2)."""
        if level is not self._root:
            return list(level.children.values())
        return [child for name, child in level.children.items() if not name.startswith("$")]


def _weight(message: Message) -> int:
    return message.size + LEVEL * (message.topic.count("/") + 1)

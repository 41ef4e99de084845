"""The last message of each topic, kept for those who subscribe later (MQTT 5, 3.3.1.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.broker.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.broker.message import Message


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

    def __len__(self) -> int:
        return len(self._messages)

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
        if self._messages.pop(topic, None) is None:
            return False
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
        found = list(self._walk(topic_filter.split("/")))
        for message in found:
            if message.expired(now):
                self.remove(message.topic)
        return [message for message in found if not message.expired(now)]

    def _walk(self, levels: list[str]) -> Iterator[Message]:
        places = [self._root]
        for index, name in enumerate(levels):
            if name == "#":
                for place in places:
                    yield from self._everything(place, root=index == 0)
                return
            places = [child for place in places for child in step(place, name, root=index == 0)]
        for place in places:
            if place.message is not None:
                yield place.message

    def _everything(self, place: Level, *, root: bool) -> Iterator[Message]:
        waiting = [place]
        while waiting:
            level = waiting.pop()
            if level.message is not None:
                yield level.message
            inside_root = root and level is place
            waiting.extend(
                child
                for name, child in level.children.items()
                if not (inside_root and name.startswith("$"))
            )


def step(place: Level, name: str, *, root: bool) -> list[Level]:
    """The children that one level of a filter leads to; wildcards never open `$…` (4.7.2)."""
    if name == "+":
        return [
            child for key, child in place.children.items() if not (root and key.startswith("$"))
        ]
    child = place.children.get(name)
    return [] if child is None else [child]

"""The last message of each topic, kept for those who subscribe later (MQTT 5, 3.3.1.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    """Retained messages by topic: here filters look for topics, the reverse of the index."""

    def __init__(self) -> None:
        self._root = Level()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, message: Message) -> None:
        """Replaces the topic's retained message."""
        level = self._root
        for name in message.topic.split("/"):
            child = level.children.get(name)
            if child is None:
                child = level.children[name] = Level()
            level = child
        if level.message is None:
            self._size += 1
        level.message = message

    def get(self, topic: str) -> Message | None:
        """The topic's retained message."""
        level = self._root
        for name in topic.split("/"):
            child = level.children.get(name)
            if child is None:
                return None
            level = child
        return level.message

    def remove(self, topic: str) -> bool:
        """Removes the topic's retained message, and the branch that held nothing else."""
        path: list[tuple[Level, str]] = []
        level = self._root
        for name in topic.split("/"):
            child = level.children.get(name)
            if child is None:
                return False
            path.append((level, name))
            level = child
        if level.message is None:
            return False
        level.message = None
        self._size -= 1
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

    def messages(self) -> list[Message]:
        """All of them."""
        return list(self._everything(self._root, root=False))


def step(place: Level, name: str, *, root: bool) -> list[Level]:
    """The children that one level of a filter leads to; wildcards never open `$…` (4.7.2)."""
    if name == "+":
        return [
            child for key, child in place.children.items() if not (root and key.startswith("$"))
        ]
    child = place.children.get(name)
    return [] if child is None else [child]

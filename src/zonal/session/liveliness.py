"""Liveliness with places: who is there, in this area?"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import zenoh

from zonal.errors import LocationKeyError
from zonal.geo import Area, Cell, Everywhere, Point
from zonal.keys import (
    Encoding,
    LocationKey,
    Role,
    check_topic,
    encodings,
    place_key,
    presence_keys,
    read_key,
    refine,
)
from zonal.runtime import Incoming, Mailbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from zonal.runtime import CallbackThreads
    from zonal.session.parts import SessionParts


class Presence(NamedTuple):
    """Something appeared (alive) or went away at a place."""

    key: str
    place: Point | Area | Cell | None
    alive: bool


class Liveliness:
    """Tokens that live as long as their session, subscribers and gets for them, by area.

    A token carries nothing but its key, so its place is known as finely as the encoding writes
    it: to a cell of about 10 m with `s2`, to a metre with `mgrs`, exactly with `json`.
    """

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts

    def declare_token(
        self,
        key: str,
        *,
        location: Point | None = None,
        encoding: Encoding | None = None,
        precision_m: float | None = None,
    ) -> zenoh.LivelinessToken:
        """Be there, at a location or at the session's position, as long as the token is kept."""
        parts = self._parts
        place = parts.place(location, precision_m)
        name = place_key(check_topic(key), place, encoding or parts.encoding)
        return parts.zenoh.liveliness().declare_token(name)

    def declare_subscriber(
        self,
        key: str,
        handler: Callable[[Presence], Any] | None = None,
        *,
        area: Area | None = None,
        encoding: Encoding | None = None,
        history: bool = False,
    ) -> PresenceSubscriber:
        """Hear who appears and disappears in the area; with `history` also who is there already."""
        placed = self._parts.area(area)
        subscriber = PresenceSubscriber(key, placed)
        for name in self._keys(key, placed, encoding):
            subscriber.watch(
                self._parts.zenoh.liveliness().declare_subscriber(
                    name, subscriber.take, history=history
                )
            )
        if handler is not None:
            subscriber.call(handler, self._parts.threads)
        return subscriber

    def get(
        self,
        key: str,
        *,
        area: Area | None = None,
        encoding: Encoding | None = None,
        timeout: float = 5.0,
    ) -> list[Presence]:
        """Who is there now."""
        placed = self._parts.area(area)
        found: dict[str, Presence] = {}
        channels = [
            self._parts.zenoh.liveliness().get(name, timeout=timeout)
            for name in self._keys(key, placed, encoding)
        ]
        for channel in channels:
            for reply in channel:
                if reply.ok is not None:
                    presence = presence_of(str(reply.ok.key_expr), alive=True)
                    if presence is not None and is_inside(presence, placed):
                        found[str(reply.ok.key_expr)] = presence
        return list(found.values())

    def _keys(self, key: str, area: Area | None, encoding: Encoding | None) -> Iterable[str]:
        kinds = encodings() if area is None else (encoding or self._parts.encoding,)
        return presence_keys(check_topic(key), area, kinds)


def presence_of(key: str, *, alive: bool) -> Presence | None:
    """What a token's key tells; None where its place cannot be read."""
    parts = read_key(key)
    if parts.is_plain:
        return Presence(parts.topic, None, alive)
    try:
        place = LocationKey(parts.location, Role.PUBLISHER).decode()
        return Presence(parts.topic, place, alive)
    except LocationKeyError:
        return None


def is_inside(presence: Presence, area: Area | None) -> bool:
    """Whether the token's place is, or may be, in the area."""
    if area is None or isinstance(area, Everywhere):
        return True
    place = presence.place
    if isinstance(place, Point | Cell):
        return refine(area, place)
    return place is not None and area.intersects(place)


class PresenceSubscriber(Incoming[Presence]):
    """Hears who appears and disappears; iterate over it, or give a callback."""

    def __init__(self, topic: str, area: Area | None) -> None:
        self._name = f"presence {topic!r}"
        super().__init__(Mailbox(name=self._name))
        self._area = area
        self._lock = threading.Lock()
        self._alive: set[str] = set()
        self._subscribers: list[Any] = []

    def watch(self, subscriber: Any) -> None:
        """One of Zenoh's subscribers that feed this one."""
        self._subscribers.append(subscriber)

    def take(self, sample: zenoh.Sample) -> None:
        """From Zenoh: a token came or went."""
        key, alive = str(sample.key_expr), sample.kind == zenoh.SampleKind.PUT
        with self._lock:
            if (key in self._alive) == alive:
                return  # a token that was there already comes both as history and as news
            self._alive ^= {key}
        presence = presence_of(key, alive=alive)
        if presence is not None and is_inside(presence, self._area):
            self._bring([presence])

    def call(self, callback: Callable[[Presence], Any], threads: CallbackThreads) -> None:
        """Hand every change to a callback."""
        self._call_back(self._name, callback, threads)

    def undeclare(self) -> None:
        """Hear no more."""
        for subscriber in self._subscribers:
            subscriber.undeclare()
        self._subscribers.clear()
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undeclare()

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
from zonal.runtime import Mailbox
from zonal.session.routing import blurred

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from zonal.session.query import Asking


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

    def __init__(self, asking: Asking, default_encoding: Encoding) -> None:
        self._asking = asking
        self._default = default_encoding

    def declare_token(
        self,
        key: str,
        *,
        location: Point | None = None,
        encoding: Encoding | None = None,
        precision_m: float | None = None,
    ) -> zenoh.LivelinessToken:
        """Be there, at a location or at the session's position, as long as the token is kept."""
        topic = check_topic(key)
        point = location
        if point is None and self._asking.position.is_known:
            point = self._asking.position.current()
        if point is not None:
            topic = place_key(topic, blurred(point, precision_m), encoding or self._default)
        return self._asking.session.liveliness().declare_token(topic)

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
        placed = self._placed(area)
        subscriber = PresenceSubscriber(placed)
        for name in self._keys(key, placed, encoding):
            subscriber.watch(
                self._asking.session.liveliness().declare_subscriber(
                    name, subscriber.take, history=history
                )
            )
        if handler is not None:
            subscriber.call(handler)
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
        placed = self._placed(area)
        found: dict[str, Presence] = {}
        channels = [
            self._asking.session.liveliness().get(name, timeout=timeout)
            for name in self._keys(key, placed, encoding)
        ]
        for channel in channels:
            for reply in channel:
                if reply.ok is not None:
                    presence = presence_of(str(reply.ok.key_expr), alive=True)
                    if presence is not None and is_inside(presence, placed):
                        found[str(reply.ok.key_expr)] = presence
        return list(found.values())

    def _placed(self, area: Area | None) -> Area | None:
        return self._asking.place_area(area)

    def _keys(self, key: str, area: Area | None, encoding: Encoding | None) -> Iterable[str]:
        kinds = encodings() if area is None else (encoding or self._default,)
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


class PresenceSubscriber:
    """Hears who appears and disappears; iterate over it, or give a callback."""

    def __init__(self, area: Area | None) -> None:
        if area is not None and area.is_ego_centric:
            raise LocationKeyError("the area has no centre yet; place it with at(point)")
        self._area = area
        self._mailbox: Mailbox[Presence] = Mailbox()
        self._lock = threading.Lock()
        self._alive: set[str] = set()
        self._subscribers: list[Any] = []
        self._thread: threading.Thread | None = None

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
            self._mailbox.put([presence])

    def recv(self, timeout: float | None = None) -> Presence | None:
        """The next change; None when the time is over."""
        return self._mailbox.take(timeout)

    def __iter__(self) -> Iterator[Presence]:
        return iter(self._mailbox)

    def __aiter__(self) -> AsyncIterator[Presence]:
        return aiter(self._mailbox)

    def call(self, callback: Callable[[Presence], Any]) -> None:
        """Hand every change to a callback, in a thread of its own."""
        self._thread = threading.Thread(
            target=lambda: [callback(presence) for presence in self._mailbox],
            name="zonal-presence",
            daemon=True,
        )
        self._thread.start()

    def undeclare(self) -> None:
        """Hear no more."""
        for subscriber in self._subscribers:
            subscriber.undeclare()
        self._mailbox.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undeclare()

"""Liveliness with places: who is there, in this area?"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import zenoh

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
from zonal.runtime import Incoming, Mailbox, Tally
from zonal.session.declared_keys import DeclaredKeys
from zonal.session.given import area_given, check_handler, check_seconds, point_given
from zonal.session.refusal import refusals
from zonal.session.scope import Scope
from zonal.session.undeclaring import Declared, DeclaredInArea
from zonal.session.weight import ITSELF

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.geo import GivenArea, GivenPoint
    from zonal.session.parts import SessionParts

logger = logging.getLogger(__name__)

MOST_TOKENS, MOST_CHARACTERS = 65_536, 16 * 1024 * 1024
"""What a subscriber of tokens knows at most: tokens, and characters of their keys."""
_MALFORMED = "a token is ignored (%(count)d so far): %(why)s"
_LEFT_OUT = "too many tokens are there (%(count)d beyond what may be known so far): %(why)s"


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
        self._malformed = Tally(logger, _MALFORMED)

    @property
    def malformed(self) -> int:
        """How many tokens `get` could not read."""
        return self._malformed.count

    def declare_token(
        self,
        key: str,
        *,
        location: GivenPoint | None = None,
        encoding: Encoding | str | None = None,
        precision_m: float | None = None,
    ) -> PresenceToken:
        """Be there, at a location or at the session's position, as long as the token is kept.

        At the session's position it follows: whenever its key changes, it appears at the new place
        before it goes from the old one. With `precision_m` that is every cell of that size.
        """
        place = point_given(location)
        with refusals(self._parts.zenoh, f"declare a token of {key!r}"):
            kind = self._encoding(encoding)
            return PresenceToken(check_topic(key), place, kind, precision_m, self._parts)

    def declare_subscriber(
        self,
        key: str,
        handler: Callable[[Presence], Any] | None = None,
        *,
        area: GivenArea | None = None,
        encoding: Encoding | str | None = None,
        margin_m: float | None = None,
        history: bool = False,
    ) -> PresenceSubscriber:
        """Hear who appears and disappears in the area; with `history` also who is there already.

        A `Circle` without a centre follows the session's position: who comes into it by our own
        moving appears, and who is left behind disappears.
        """
        check_handler(handler)
        wanted, position = area_given(area), self._parts.position
        position.look(required=wanted is not None and wanted.is_ego_centric)
        scope = Scope(wanted, position.last, fenced=True, margin_m=margin_m)
        with refusals(self._parts.zenoh, f"declare a subscriber of tokens {key!r}"):
            subscriber = PresenceSubscriber(
                check_topic(key), scope, self._encodings(wanted, encoding), self._parts, history
            )
        if handler is not None:
            subscriber.call(handler)
        return subscriber

    def get(
        self,
        key: str,
        *,
        area: GivenArea | None = None,
        encoding: Encoding | str | None = None,
        timeout: float = 5.0,
    ) -> list[Presence]:
        """Who is there now; at most 65,536 tokens."""
        check_seconds(timeout)
        placed = self._parts.area(area_given(area))
        found: dict[str, Presence] = {}
        keys = presence_keys(check_topic(key), placed, self._encodings(placed, encoding))
        with refusals(self._parts.zenoh, f"ask for tokens {key!r}"):
            liveliness = self._parts.zenoh.liveliness()
            channels = [liveliness.get(name, timeout=timeout) for name in keys]
        for channel in channels:
            for reply in channel:
                if reply.ok is not None and len(found) < MOST_TOKENS:
                    name = str(reply.ok.key_expr)
                    presence = _read(name, self._malformed)
                    if presence is not None and is_inside(presence, placed):
                        found[name] = presence
        return list(found.values())

    def _encodings(
        self, area: Area | None, encoding: Encoding | str | None
    ) -> tuple[Encoding, ...]:
        return encodings() if area is None else (self._encoding(encoding),)

    def _encoding(self, encoding: Encoding | str | None) -> Encoding:
        if encoding is None or isinstance(encoding, str):
            return self._parts.encoding_named(encoding)
        return encoding


class PresenceToken(Declared):
    """Says that somebody is there, until it is undeclared or its session ends."""

    def __init__(
        self,
        topic: str,
        location: Point | None,
        encoding: Encoding,
        precision_m: float | None,
        parts: SessionParts,
    ) -> None:
        self.key = topic
        self._location = location
        self._encoding = encoding
        self._precision_m = precision_m
        self._parts = parts
        self._declared = DeclaredKeys(parts.zenoh.liveliness().declare_token)
        self.move()
        parts.followers.add(self)

    @property
    def declared_keys(self) -> tuple[str, ...]:
        """The key that says its place."""
        return self._declared.keys

    @property
    def follows_position(self) -> bool:
        """Whether it goes where the session goes."""
        return not self._closed and self._location is None

    def move(self) -> None:
        """Follow the position."""
        place = self._parts.place(self._location, self._precision_m)
        self._declared.adjust((place_key(self.key, place, self._encoding),))

    def undeclare(self) -> None:
        """Be there no more."""
        self._closed = True
        self._declared.close()
        self._parts.followers.forget(self)

    def __repr__(self) -> str:
        return f"PresenceToken({', '.join(self.declared_keys) or 'closed'})"


def presence_of(key: str) -> Presence:
    """What the key of a token that is there tells; an error where its place cannot be read."""
    parts = read_key(key)
    if parts.is_plain:
        return Presence(parts.topic, None, alive=True)
    place = LocationKey(parts.location, Role.PUBLISHER).decode()
    return Presence(parts.topic, place, alive=True)


def _read(key: str, malformed: Tally) -> Presence | None:
    try:
        return presence_of(key)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other tokens are read
        malformed.add(error)
        return None


def is_inside(presence: Presence, area: Area | None) -> bool:
    """Whether the token's place is, or may be, in the area."""
    if area is None or isinstance(area, Everywhere):
        return True
    place = presence.place
    if isinstance(place, Point | Cell):
        return refine(area, place)
    return place is not None and area.intersects(place)


class PresenceSubscriber(DeclaredInArea, Incoming[Presence]):
    """Hears who appears and disappears; iterate over it, or give a callback.

    It knows 65,536 tokens at most, with 16 MiB of keys. What comes beyond is left out, and heard
    of only if it comes again.
    """

    def __init__(
        self,
        topic: str,
        scope: Scope,
        kinds: tuple[Encoding, ...],
        parts: SessionParts,
        history: bool,
    ) -> None:
        self.key = topic
        self._name = f"presence {topic!r}"
        super().__init__(Mailbox(name=self._name, weigh=_bytes_of))
        self._scope = scope
        self._encodings = kinds
        self._parts = parts
        self._history = history
        self._lock = threading.Lock()
        self._known: dict[str, Presence] = {}
        """By the tokens that are there; alive where the user was told so."""
        self._characters = 0
        self._malformed = Tally(logger, _MALFORMED)
        self._left_out = Tally(logger, _LEFT_OUT)
        self._arrive = parts.arrivals.door(self._take)
        self._subscribers = DeclaredKeys(self._watch)
        self._declare()
        self._history = self._history or scope.is_ego_centric  # who we come near to is news
        parts.followers.add(self)

    @property
    def declared_keys(self) -> tuple[str, ...]:
        """The key expressions that are declared to the network."""
        return self._subscribers.keys

    @property
    def malformed(self) -> int:
        """How many tokens could not be read."""
        return self._malformed.count

    @property
    def left_out(self) -> int:
        """How many were there beyond what may be known."""
        return self._left_out.count

    @property
    def overflowed(self) -> int:
        """How many changes were dropped, since too many were waiting."""
        return self._mailbox.overflowed

    def move(self) -> None:
        """Follow the position: others appear and disappear by our own moving."""
        before = self._scope.wish
        self._scope.move(self._parts.position.last)
        with self._lock:
            self._bring([news for key in list(self._known) for news in self._news(key)])
        if self._scope.wish is not before:
            self._declare()
            self._forget_those_out_of_sight()

    def _declare(self) -> None:
        wish = self._scope.wish
        keys = () if wish is None else presence_keys(self.key, wish.area, self._encodings)
        self._subscribers.adjust(keys)

    def _watch(self, key: str) -> Any:
        handler = zenoh.handlers.Callback(self._arrive, indirect=False)
        liveliness = self._parts.zenoh.liveliness()
        return liveliness.declare_subscriber(key, handler, history=self._history)

    def _forget_those_out_of_sight(self) -> None:
        """Of tokens that no declared key meets, nothing more will be heard."""
        declared = [zenoh.KeyExpr(key) for key in self._subscribers.keys]
        with self._lock:
            for key in list(self._known):
                token = zenoh.KeyExpr(key)
                if not any(watched.intersects(token) for watched in declared):
                    self._bring(self._forget(key))

    def _take(self, samples: list[zenoh.Sample]) -> None:
        """On the reading thread: tokens came or went."""
        with self._lock:
            for sample in samples:
                key, alive = str(sample.key_expr), sample.kind == zenoh.SampleKind.PUT
                if (key in self._known) == alive:
                    continue  # one that was there already comes both as history and as news
                self._bring(self._learn(key) if alive else self._forget(key))

    def _learn(self, key: str) -> list[Presence]:
        """A token is there; what to tell of it."""
        presence = _read(key, self._malformed)
        if presence is None:
            return []
        if len(self._known) >= MOST_TOKENS or self._characters + len(key) > MOST_CHARACTERS:
            self._left_out.add(key)
            return []
        self._characters += len(key)
        self._known[key] = presence._replace(alive=False)
        return self._news(key)

    def _forget(self, key: str) -> list[Presence]:
        presence = self._known.pop(key)
        self._characters -= len(key)
        return [presence._replace(alive=False)] if presence.alive else []

    def _news(self, key: str) -> list[Presence]:
        """What to tell of a token that is there: something only where that changes."""
        presence = self._known[key]
        is_here = is_inside(presence, self._scope.area)
        if is_here == presence.alive:
            return []
        self._known[key] = presence._replace(alive=is_here)
        return [self._known[key]]

    def call(self, callback: Callable[[Presence], Any]) -> None:
        """Hand every change to a callback."""
        self._call_back(self._name, callback, self._parts.threads)

    def undeclare(self) -> None:
        """Hear no more."""
        self._closed = True
        self._subscribers.close()
        self._end()
        self._parts.followers.forget(self)

    def __repr__(self) -> str:
        there = sum(presence.alive for presence in tuple(self._known.values()))
        state = "closed" if self._closed else f"{there} there"
        return f"PresenceSubscriber(key={self.key!r}, area={self.area}, {state})"


def _bytes_of(presence: Presence) -> int:
    return ITSELF + len(presence.key)

"""Areas that subscribers and queryables announce, for encodings that routers cannot match.

A device with such an area declares a liveliness token under its location key; whoever sends
watches the tokens of the topic, and so knows which shapes there are and which of them match.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import zenoh

from zonal.errors import LocationKeyError
from zonal.keys import (
    AnnouncedArea,
    announced_expression,
    announcement_key,
    announcements_key,
    read_announced,
    refine,
)

if TYPE_CHECKING:
    from zonal.geo import Area
    from zonal.keys import Encoding, Place

logger = logging.getLogger(__name__)

_FIRST_LOOK_S = 2.0

WATCHED = 256
"""Topics whose announcements a session watches at a time; the one unused for longest goes."""


class Announcements:
    """What others have announced, topic by topic; and what this session announces itself."""

    def __init__(self, session: zenoh.Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._watches: OrderedDict[tuple[str, str], _Watch] = OrderedDict()
        self._number = 0

    def announce(self, key: str) -> zenoh.LivelinessToken:
        """Let senders know of a device under this location key, until the token is undeclared."""
        with self._lock:
            self._number += 1
            device = f"{self._session.zid()}-{self._number}"
        return self._session.liveliness().declare_token(announcement_key(key, device))

    def matching(self, topic: str, encoding: Encoding, place: Place) -> tuple[str, ...]:
        """The announced subscribers' expressions whose area holds the place."""
        announced = self._watch(topic, encoding).announced()
        return tuple(a.expression for a in announced if a.hears and refine(a.area, place))

    def intersecting(self, topic: str, encoding: Encoding, area: Area) -> tuple[str, ...]:
        """The announced queryables' expressions whose area intersects this one."""
        announced = self._watch(topic, encoding).announced()
        return tuple(a.expression for a in announced if a.answers and area.intersects(a.area))

    def _watch(self, topic: str, encoding: Encoding) -> _Watch:
        forgotten = None
        with self._lock:
            watch = self._watches.get((topic, encoding.prefix))
            if watch is None:
                watch = _Watch(self._session, topic, encoding)
                self._watches[topic, encoding.prefix] = watch
                if len(self._watches) > WATCHED:
                    _, forgotten = self._watches.popitem(last=False)
            else:
                self._watches.move_to_end((topic, encoding.prefix))
        if forgotten is not None:
            forgotten.close()
        watch.wait_for_first_look()
        return watch

    def close(self) -> None:
        """Stop watching."""
        with self._lock:
            watches = list(self._watches.values())
            self._watches.clear()
        for watch in watches:
            watch.close()


class _Watch:
    """The tokens of one topic and encoding."""

    def __init__(self, session: zenoh.Session, topic: str, encoding: Encoding) -> None:
        self._encoding = encoding
        self._lock = threading.Lock()
        self._holders: dict[str, set[str]] = {}
        self._announced: dict[str, AnnouncedArea] = {}
        self._looked = threading.Event()
        watched = announcements_key(topic, encoding)
        liveliness = session.liveliness()
        # Not "indirect": Zenoh's Python threads for that would keep an interpreter from ending.
        changed = zenoh.handlers.Callback(self._changed, indirect=False)
        self._subscriber = liveliness.declare_subscriber(watched, changed)
        # What is there already comes as replies, whose end we hear of; history would not tell.
        liveliness.get(
            watched,
            zenoh.handlers.Callback(self._found, drop=self._looked.set, indirect=False),
            timeout=_FIRST_LOOK_S,
        )

    def wait_for_first_look(self) -> None:
        """Wait until the tokens that existed before are known."""
        self._looked.wait(_FIRST_LOOK_S)

    def announced(self) -> list[AnnouncedArea]:
        """The areas that are announced now."""
        with self._lock:
            return list(self._announced.values())

    def _found(self, reply: zenoh.Reply) -> None:
        if reply.ok is not None:
            self._add(str(reply.ok.key_expr))

    def _changed(self, sample: zenoh.Sample) -> None:
        key = str(sample.key_expr)
        if sample.kind == zenoh.SampleKind.PUT:
            self._add(key)
        else:
            self._remove(key)

    def _add(self, token: str) -> None:
        expression = announced_expression(token)
        with self._lock:
            holders = self._holders.setdefault(expression, set())
            holders.add(token)
            if len(holders) > 1:
                return
            try:
                self._announced[expression] = read_announced(expression, self._encoding)
            except LocationKeyError as error:
                logger.warning("ignoring an announced area: %s", error)

    def _remove(self, token: str) -> None:
        expression = announced_expression(token)
        with self._lock:
            holders = self._holders.get(expression, set())
            holders.discard(token)
            if not holders:
                self._holders.pop(expression, None)
                self._announced.pop(expression, None)

    def close(self) -> None:
        self._subscriber.undeclare()

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
from zonal.geo import Area
from zonal.keys import Role, join, refine

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.keys import Encoding, Place

logger = logging.getLogger(__name__)

_BY = "@by"
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
            name = f"{key}/{_BY}/{self._session.zid()}-{self._number}"
        return self._session.liveliness().declare_token(name)

    def matching(self, topic: str, encoding: Encoding, place: Place) -> tuple[str, ...]:
        """The announced subscribers' expressions whose area holds the place."""
        return self._select(topic, encoding, Role.SUBSCRIBER, lambda area: refine(area, place))

    def intersecting(self, topic: str, encoding: Encoding, area: Area) -> tuple[str, ...]:
        """The announced queryables' expressions whose area intersects this one."""
        return self._select(topic, encoding, Role.QUERYABLE, area.intersects)

    def _select(
        self, topic: str, encoding: Encoding, role: Role, wanted: Callable[[Area], bool]
    ) -> tuple[str, ...]:
        watch = self._watch(topic, encoding)
        return tuple(expression for expression, area in watch.areas(role).items() if wanted(area))

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
        self._areas: dict[Role, dict[str, Area]] = {Role.SUBSCRIBER: {}, Role.QUERYABLE: {}}
        self._looked = threading.Event()
        watched = f"{join(topic, encoding.prefix)}/*/{_BY}/*"
        liveliness = session.liveliness()
        self._subscriber = liveliness.declare_subscriber(watched, self._changed)
        # What is there already comes as replies, whose end we hear of; history would not tell.
        liveliness.get(
            watched,
            zenoh.handlers.Callback(self._found, drop=self._looked.set),
            timeout=_FIRST_LOOK_S,
        )

    def wait_for_first_look(self) -> None:
        """Wait until the tokens that existed before are known."""
        self._looked.wait(_FIRST_LOOK_S)

    def areas(self, role: Role) -> dict[str, Area]:
        """The announced areas by their expressions."""
        with self._lock:
            return dict(self._areas[role])

    def _found(self, reply: zenoh.Reply) -> None:
        if reply.ok is not None:
            self._add(str(reply.ok.key_expr))

    def _changed(self, sample: zenoh.Sample) -> None:
        key = str(sample.key_expr)
        if sample.kind == zenoh.SampleKind.PUT:
            self._add(key)
        else:
            self._remove(key)

    def _add(self, key: str) -> None:
        expression = _expression_of(key)
        with self._lock:
            holders = self._holders.setdefault(expression, set())
            holders.add(key)
            if len(holders) > 1:
                return
            try:
                role = _role_of(expression)
                area = self._encoding.decode(expression, role)
            except LocationKeyError as error:
                logger.warning("ignoring an announced area: %s", error)
                return
            if isinstance(area, Area):
                kind = Role.QUERYABLE if role is Role.QUERYABLE else Role.SUBSCRIBER
                self._areas[kind][expression] = area

    def _remove(self, key: str) -> None:
        expression = _expression_of(key)
        with self._lock:
            holders = self._holders.get(expression, set())
            holders.discard(key)
            if not holders:
                self._holders.pop(expression, None)
                for areas in self._areas.values():
                    areas.pop(expression, None)

    def close(self) -> None:
        self._subscriber.undeclare()


def _expression_of(key: str) -> str:
    return "@" + key.partition("/@")[2].partition(f"/{_BY}/")[0]


def _role_of(expression: str) -> Role:
    flag = expression.partition("/")[2].partition("_")[0]
    try:
        return Role(flag)
    except ValueError as error:
        raise LocationKeyError(f"{expression!r} names no known role") from error

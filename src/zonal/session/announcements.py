"""Areas that subscribers and queryables announce, for encodings that routers cannot match.

A device with such an area declares a liveliness token under its location key; whoever sends
watches the tokens of the topic, and so knows which shapes there are and which of them match.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

import zenoh

from zonal.keys import announcement_key, announcements_key, every_place, refine
from zonal.runtime import Tally
from zonal.session.announced_areas import AnnouncedAreas

if TYPE_CHECKING:
    from zonal.geo import Area
    from zonal.keys import Encoding, Place

logger = logging.getLogger(__name__)

_FIRST_LOOK_S = 2.0

WATCHED = 256
"""Topics whose announcements a session watches at a time; the one unused for longest goes."""


class AnnouncementCounters(NamedTuple):
    """What others announced, and is not known here."""

    malformed: int
    """Areas that could not be read."""
    left_out: int
    """Those beyond what may be known of a topic; its messages then go to all who announce any."""


class Announcements:
    """What others have announced, topic by topic; and what this session announces itself."""

    def __init__(self, session: zenoh.Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._watches: OrderedDict[tuple[str, str], _Watch] = OrderedDict()
        self._number = 0
        self._malformed = Tally(logger, "an announced area is ignored (%(count)d so far): %(why)s")
        self._left_out = Tally(
            logger,
            "too many areas are announced (%(count)d beyond what may be known so far), messages go "
            "to all who announce any: %(why)s",
        )

    @property
    def counters(self) -> AnnouncementCounters:
        """What was not taken for an announced area."""
        return AnnouncementCounters(self._malformed.count, self._left_out.count)

    def announce(self, key: str) -> zenoh.LivelinessToken:
        """Let senders know of a device under this location key, until the token is undeclared."""
        with self._lock:
            self._number += 1
            device = f"{self._session.zid()}-{self._number}"
        return self._session.liveliness().declare_token(announcement_key(key, device))

    def matching(self, topic: str, encoding: Encoding, place: Place) -> tuple[str, ...]:
        """The announced subscribers' expressions whose area holds the place.

        One that all of them intersect where more areas are announced than may be known.
        """
        areas = self._watch(topic, encoding).areas
        if not areas.complete:
            return (every_place(encoding),)
        return tuple(a.expression for a in areas.known() if a.hears and refine(a.area, place))

    def intersecting(self, topic: str, encoding: Encoding, area: Area) -> tuple[str, ...]:
        """The announced queryables' expressions whose area intersects this one; see `matching`."""
        areas = self._watch(topic, encoding).areas
        if not areas.complete:
            return (every_place(encoding),)
        return tuple(a.expression for a in areas.known() if a.answers and area.intersects(a.area))

    def _watch(self, topic: str, encoding: Encoding) -> _Watch:
        forgotten = None
        with self._lock:
            watch = self._watches.get((topic, encoding.prefix))
            if watch is None:
                areas = AnnouncedAreas(encoding, self._malformed.add, self._left_out.add)
                watch = _Watch(self._session, topic, encoding, areas)
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

    def __init__(
        self, session: zenoh.Session, topic: str, encoding: Encoding, areas: AnnouncedAreas
    ) -> None:
        self.areas = areas
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

    # On Zenoh's thread: a token is kept, and not looked into

    def _found(self, reply: zenoh.Reply) -> None:
        if reply.ok is not None:
            self.areas.add(str(reply.ok.key_expr))

    def _changed(self, sample: zenoh.Sample) -> None:
        key = str(sample.key_expr)
        if sample.kind == zenoh.SampleKind.PUT:
            self.areas.add(key)
        else:
            self.areas.remove(key)

    def close(self) -> None:
        self._subscriber.undeclare()

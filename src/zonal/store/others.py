"""Other stores: who else is there, and which things have gone from one to another.

Every store has a liveliness token under `@zonal/store`, which no ordinary key expression matches.
A store that takes a thing that is new to it, or that came from afar, tells the others under
`@zonal/held/<key>`: one that kept it for an area which it has left lets go of it.
"""

from __future__ import annotations

import math
import secrets
import struct
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import zenoh

from zonal.geo import Point
from zonal.runtime import close_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from zonal.store.thing import StoredThing

ALIVE, HELD = "@zonal/store", "@zonal/held"
_WITH_AREA, _EVERYWHERE = "area", "everywhere"
_HEAD = struct.Struct(">Qdd")
_BETWEEN = "\x1f"
_NEAR_M = 500.0
"""A thing that went farther in one step may have left the area of another store unheard."""


class Holding(NamedTuple):
    """Another store has this thing now, as it was at a time and place (None: deleted)."""

    key: str
    part: str
    ntp64: int
    clock: str
    place: Point | None

    def to_bytes(self) -> bytes:
        """The payload of the message that tells it."""
        lat, lon = (math.nan, math.nan) if self.place is None else self.place
        return _HEAD.pack(self.ntp64, lat, lon) + f"{self.clock}{_BETWEEN}{self.part}".encode()

    @classmethod
    def from_message(cls, key: str, data: bytes) -> Self | None:
        """What a message tells; None where it cannot be read."""
        try:
            ntp64, lat, lon = _HEAD.unpack_from(data)
            clock, _, part = data[_HEAD.size :].decode().partition(_BETWEEN)
            place = None if math.isnan(lat) else Point(lat, lon)
        except (struct.error, ValueError):
            return None
        return cls(key, part, ntp64, clock, place)

    def taking(self, ours: StoredThing) -> StoredThing:
        """What is left of our own thing: when it went; nothing older counts."""
        return ours._replace(
            ntp64=self.ntp64, clock=self.clock, deleted=True, payload=b"", attachment=None
        )


def is_news(thing: StoredThing, known: StoredThing | None) -> bool:
    """Whether another store may have it and not hear that it went."""
    if thing.deleted or known is None or known.deleted:
        return True
    before, now = known.place, thing.place
    if not (isinstance(before, Point) and isinstance(now, Point)):
        return before != now
    return before.distance_m(now) > _NEAR_M


class OtherStores:
    """The company of one store.

    Args:
        session: the plain session.
        topics: what the store keeps.
        has_area: whether it keeps a part of the world only, so that things may leave it.
        on_come: another store is there (again).
        on_held: another store holds a thing.
    """

    def __init__(
        self,
        session: zenoh.Session,
        topics: Sequence[str],
        *,
        has_area: bool,
        on_come: Callable[[], None],
        on_held: Callable[[Holding], None],
    ) -> None:
        self.id = secrets.token_hex(8)
        self._session = session
        self._on_come, self._on_held = on_come, on_held
        self._with_area: set[str] = set()
        kind = _WITH_AREA if has_area else _EVERYWHERE
        self._declared: list[Any] = [
            session.liveliness().declare_subscriber(
                f"{ALIVE}/*/*", zenoh.handlers.Callback(self._changed, indirect=False), history=True
            ),
            session.liveliness().declare_token(f"{ALIVE}/{kind}/{self.id}"),
        ]
        if has_area:
            hear = zenoh.handlers.Callback(self._held, indirect=False)
            self._declared += [
                session.declare_subscriber(f"{HELD}/{topic}", hear) for topic in topics
            ]

    @property
    def want_to_know(self) -> bool:
        """Whether some other store keeps a part of the world, and has to hear what left it."""
        return bool(self._with_area)

    def tell(self, things: Sequence[StoredThing]) -> None:
        """We hold these now."""
        for each in things:
            place = None
            if not each.deleted and each.latitude is not None and each.longitude is not None:
                place = Point(each.latitude, each.longitude)
            holding = Holding(each.key, each.part, each.ntp64, each.clock, place)
            self._session.put(f"{HELD}/{each.key}", holding.to_bytes())

    def close(self) -> None:
        """Be gone."""
        close_all(each.undeclare for each in reversed(self._declared))

    def _changed(self, sample: zenoh.Sample) -> None:
        kind, name = str(sample.key_expr).removeprefix(f"{ALIVE}/").split("/")
        if name == self.id:
            return
        if sample.kind == zenoh.SampleKind.DELETE:
            self._with_area.discard(name)
            return
        if kind == _WITH_AREA:
            self._with_area.add(name)
        self._on_come()

    def _held(self, sample: zenoh.Sample) -> None:
        key = str(sample.key_expr).removeprefix(f"{HELD}/")
        holding = Holding.from_message(key, sample.payload.to_bytes())
        if holding is not None:
            self._on_held(holding)

"""The keys that a message travels under, and the geo-context that travels with it."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zonal.errors import GeometryError, PositionError
from zonal.geo import Area, Cell, Point
from zonal.keys import FENCE_CELLS, Encoding, location_of, message_keys
from zonal.session.geo_context import SEQUENCE_AT, GeoContext, leb128

if TYPE_CHECKING:
    from zonal.keys import Place
    from zonal.session.announcements import Announcements


@dataclass(frozen=True, slots=True)
class Origin:
    """The sending side of a session: a random number for itself, rising ones for its messages."""

    id: int = field(default_factory=lambda: secrets.randbits(64))
    """The low 64 bits of the session's Zenoh id, which its time stamps carry."""
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    @classmethod
    def of(cls, source: str, sequence: int) -> Origin:
        """That of a message of another session (its number in hexadecimal), for a copy of it."""
        return cls(int(source, 16) & 0xFFFF_FFFF_FFFF_FFFF, itertools.count(sequence))

    def next_sequence(self) -> int:
        """The number of the next message."""
        return next(self.numbers) & 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Way:
    """The keys of all messages from one place to one fence, and what is attached to each."""

    keys: tuple[str, ...]
    place: Place | None
    fence: Area | None
    attested: bool = False
    _cached: tuple[bytes, bytes] | None = field(default=None, init=False, compare=False)

    @property
    def copies(self) -> bool:
        """Whether a receiver may get the same message under several keys."""
        if len(self.keys) > 1 or isinstance(self.place, Cell):
            return True
        return bool(self.keys) and location_of(self.keys[0]).endswith("/**")

    @property
    def is_blurred(self) -> bool:
        """Whether it comes from somewhere in a cell."""
        return isinstance(self.place, Cell)

    @property
    def location(self) -> Point | None:
        """Where the message comes from, as its receivers see it."""
        return self.place.center if isinstance(self.place, Cell) else self.place

    def attachment(
        self, origin: Origin, user: bytes | None, *, stamped: bool = False
    ) -> bytes | None:
        """What to attach; a message with neither place nor fence stays a plain Zenoh message.

        `stamped`: the messages get a time stamp of the session's own, the same for all keys.
        """
        if (self.place is None and self.fence is None) or not self.keys:
            return user
        if stamped and user is None:
            head, tail = self.parts(origin)
            return head + leb128(next(origin.numbers) & 0xFFFF_FFFF) + tail
        context = GeoContext(
            origin.id, origin.next_sequence(), self.place, self.fence, None, self.copies, user,
            self.attested,
        )  # fmt: skip
        return context.to_bytes(location_of(self.keys[0]), stamped=stamped)

    def parts(self, origin: Origin) -> tuple[bytes, bytes]:
        """What stands before and behind the number of the message, made once for the way."""
        if self._cached is None:
            context = GeoContext(
                origin.id, 0, self.place, self.fence, None, self.copies, None, self.attested
            )
            whole = context.to_bytes(location_of(self.keys[0]), stamped=True)
            object.__setattr__(self, "_cached", (whole[:SEQUENCE_AT], whole[SEQUENCE_AT + 1 :]))
        assert self._cached is not None
        return self._cached


def fence_around(place: Place | None, fence: Area | None) -> Area | None:
    """The fence of a message from this place: around it, where it has no centre of its own."""
    if fence is None or not fence.is_ego_centric:
        return fence
    if place is None:
        raise PositionError(
            "a geofence without a centre is around the message's location or the session's "
            "position, and there is neither; pass location=, or give zonal.open() a position"
        )
    return fence.at(place.center if isinstance(place, Cell) else place)


def way_of(
    topic: str,
    place: Place | None,
    fence: Area | None,
    encoding: Encoding,
    announcements: Announcements,
    *,
    attested: bool = False,
    fence_cells: int = FENCE_CELLS,
) -> Way:
    """The way of a message; it has no keys where nobody has announced an area that holds it.

    A fence without a centre is around the place that is given away: of a blurred one the middle
    of its cell.
    """
    fence = fence_around(place, fence)
    if attested and fence is None:
        raise GeometryError("attested=True is for messages with a geofence")
    announced: tuple[str, ...] = ()
    if encoding.announces_areas and place is not None:
        announced = announcements.matching(topic, encoding, place)
    keys = message_keys(topic, place, fence, encoding, announced, fence_cells)
    return Way(keys, place, fence, attested)

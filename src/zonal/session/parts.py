"""What all parts of a session share: Zenoh's session, where we are, how places are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.geo import Area, GivenPoint, as_point
from zonal.keys import Encoding, Place, blurred, encoding_named, encodings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zenoh import Session, Timestamp

    from zonal.runtime import Arrivals, CallbackThreads, Chores
    from zonal.session.alias import Alias
    from zonal.session.announcements import Announcements
    from zonal.session.followers import Followers
    from zonal.session.keyring import Keyring
    from zonal.session.position import Position
    from zonal.session.way import Origin, Way


class SessionParts(NamedTuple):
    """The parts of a session that sending, asking and liveliness stand on."""

    zenoh: Session
    origin: Origin
    position: Position
    encoding: Encoding
    """How places are written unless asked otherwise."""
    announcements: Announcements
    arrivals: Arrivals
    threads: CallbackThreads
    chores: Chores
    followers: Followers
    keyring: Keyring
    alias: Alias
    """Who we are in messages from blurred places."""

    def place(self, location: GivenPoint | None, precision_m: float | None) -> Place | None:
        """This location, or else our position, as finely as it may be told; None: not known."""
        if location is None:
            if not self.position.is_known:
                return None
            location = self.position.current()
        return blurred(as_point(location), precision_m)

    def area(self, area: Area | None) -> Area | None:
        """The area, around our position where it is ego-centric."""
        if area is None or not area.is_ego_centric:
            return area
        return area.at(self.position.current())

    def seal(
        self, way: Way, attachment: bytes | None, timestamp: Timestamp | None
    ) -> tuple[bytes | None, Timestamp]:
        """What is attached to one message, and its time stamp: that of the user, or our own."""
        data = way.attachment(self.origin_of(way), attachment, stamped=timestamp is None)
        stamp = self.alias.stamp if way.is_blurred else self.zenoh.new_timestamp
        return data, timestamp or stamp()

    def origin_of(self, way: Way) -> Origin:
        """Whose messages those of a way are: of blurred places an alias, so that none is linked."""
        return self.alias.origin if way.is_blurred else self.origin

    def encoding_named(self, name: str | None) -> Encoding:
        """The encoding of this name, or the session's own."""
        return self.encoding if name is None else encoding_named(name)

    def encodings_for(
        self, area: Area | None, names: str | Iterable[str] | None
    ) -> tuple[Encoding, ...]:
        """The encodings in which an area is written: the named ones, or the session's own.

        Without names and area: all, since messages may be written in any.
        """
        if names is None:
            kinds = encodings() if area is None else (self.encoding,)
        else:
            kinds = tuple(map(encoding_named, [names] if isinstance(names, str) else names))
        if area is not None:
            for kind in kinds:
                kind.check_area(area)
        return kinds

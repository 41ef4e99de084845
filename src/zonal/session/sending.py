"""The sending side of a session: the ways of its messages, and the publishers it declared."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypedDict, Unpack

from zonal.keys import FENCE_CELLS, check_topic
from zonal.runtime import close_all
from zonal.session.given import area_given
from zonal.session.publisher import Publisher, Stamps
from zonal.session.way import way_of

if TYPE_CHECKING:
    import zenoh

    from zonal.geo import GivenArea, GivenPoint
    from zonal.session.parts import SessionParts
    from zonal.session.publisher import DeliveryOptions, Memory
    from zonal.session.way import Way


class Whence(TypedDict, total=False):
    """Where messages come from and whom they are for."""

    location: GivenPoint | None
    """Where from; by default from the session's position."""
    geofence: GivenArea | None
    """Only those inside it hear the messages; a circle without a centre is around the location."""
    encoding: str | None
    """How places are written into keys; by default as the session does."""
    precision_m: float | None
    """Nothing finer than a cell of that size leaves the device."""
    attested: bool
    """Only those inside the geofence hear the messages whose position somebody vouches for."""


class Sending:
    """Sends from where the session is; knows its publishers and who stamps their messages."""

    def __init__(self, parts: SessionParts, stamps: Stamps) -> None:
        self._parts = parts
        self._stamps = stamps
        self._lock = threading.Lock()
        self._publishers: list[Publisher] = []

    def __len__(self) -> int:
        return len(self._publishers)

    def way(
        self,
        key: str,
        *,
        location: GivenPoint | None = None,
        geofence: GivenArea | None = None,
        encoding: str | None = None,
        precision_m: float | None = None,
        attested: bool = False,
        fence_cells: int = FENCE_CELLS,
    ) -> Way:
        """The keys and what is attached, for one message."""
        parts = self._parts
        place = parts.place(location, precision_m)
        kind = parts.encoding_named(encoding)
        return way_of(
            check_topic(key), place, area_given(geofence), kind, parts.announcements,
            attested=attested, fence_cells=fence_cells,
        )  # fmt: skip

    def publisher(
        self,
        key: str,
        delivery: DeliveryOptions,
        content_encoding: zenoh.Encoding | str | None,
        memory: Memory | None,
        sealed: str | None,
        **whence: Unpack[Whence],
    ) -> Publisher:
        """A new publisher."""
        with self._lock:
            publisher = Publisher(
                key,
                self._parts,
                delivery=delivery,
                content_encoding=content_encoding,
                memory=memory,
                sealed=sealed,
                stamps=self._stamps,
                on_close=self._forget,
                **whence,
            )
            self._publishers.append(publisher)
        return publisher

    def hear_ourselves(self) -> None:
        """Messages of our own reach our subscribers without a router that could stamp them."""
        with self._lock:
            if self._stamps is Stamps.ROUTER:
                self._stamps = Stamps.OURSELVES
                for publisher in self._publishers:
                    publisher.stamp_itself()

    def _forget(self, publisher: Publisher) -> None:
        with self._lock:
            if publisher in self._publishers:
                self._publishers.remove(publisher)

    def close(self) -> None:
        """Undeclare all publishers."""
        with self._lock:
            publishers = list(self._publishers)
        close_all(publisher.undeclare for publisher in publishers)

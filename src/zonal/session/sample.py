"""What a subscriber receives: a Zenoh sample with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.errors import AttachmentError
from zonal.geo import Area, Cell, Point
from zonal.keys import FENCE_CHUNK
from zonal.session.geo_context import GeoContext

if TYPE_CHECKING:
    import zenoh

    from zonal.keys import Place


class Source(NamedTuple):
    """Which session sent a message, and its number there; numbers increase and wrap at 2³²."""

    id: str
    sequence: int


class Sample:
    """A message: Zenoh's own sample, and the geo-context that came with it."""

    __slots__ = ("_context", "_key", "zenoh")

    def __init__(self, sample: zenoh.Sample, context: GeoContext | None) -> None:
        self.zenoh = sample
        self._context = context
        self._key: str | None = None

    @property
    def key(self) -> str:
        """The topic, without its location key."""
        if self._key is None:
            self._key = str(self.zenoh.key_expr).partition("/@")[0]
        return self._key

    @property
    def place(self) -> Place | None:
        """Where it was published: a point, the cell of a blurred place, or None."""
        return self._context.place if self._context else None

    @property
    def location(self) -> Point | None:
        """Where it was published; of a blurred place the middle of its cell."""
        place = self.place
        return place.center if isinstance(place, Cell) else place

    @property
    def is_blurred(self) -> bool:
        """Whether only a cell is known of the place."""
        return isinstance(self.place, Cell)

    @property
    def geofence(self) -> Area | None:
        """The producer geofence: only those inside it hear the message."""
        return self._context.fence if self._context else None

    @property
    def payload(self) -> zenoh.ZBytes:
        """The user's own bytes."""
        return self.zenoh.payload

    @property
    def kind(self) -> zenoh.SampleKind:
        """PUT or DELETE."""
        return self.zenoh.kind

    @property
    def content_encoding(self) -> zenoh.Encoding:
        """What the payload is, by Zenoh's list of encodings."""
        return self.zenoh.encoding

    @property
    def timestamp(self) -> zenoh.Timestamp | None:
        """Zenoh's time stamp, if a router or the publisher set one."""
        return self.zenoh.timestamp

    @property
    def source(self) -> Source | None:
        """Who sent it, and its number there."""
        if self._context is not None:
            return Source(f"{self._context.origin:016x}", self._context.sequence)
        info = self.zenoh.source_info
        return None if info is None else Source(str(info.source_id.zid), int(info.source_sn))

    @property
    def attachment(self) -> bytes | None:
        """The user's own attachment."""
        if self._context is not None:
            return self._context.user
        attachment = self.zenoh.attachment
        return None if attachment is None else attachment.to_bytes()

    def __repr__(self) -> str:
        return (
            f"Sample(key={self.key!r}, location={self.location}, kind={self.kind}, "
            f"{len(self.payload)} bytes)"
        )


def context_of(sample: zenoh.Sample) -> GeoContext | None:
    """The geo-context of a sample; None for a plain one, an error for a location key without it."""
    attachment = sample.attachment
    if attachment is not None:
        data = attachment.to_bytes()
        try:
            return GeoContext.from_bytes(data)
        except AttachmentError:
            if "/@" not in str(sample.key_expr):
                return None  # a plain message with an attachment of its own
            raise
    key = str(sample.key_expr)
    if "/@" in key:
        raise AttachmentError(f"a location key without a geo-context: {key}")
    return None


def has_fence(key: str) -> bool:
    """Whether a key carries a producer geofence."""
    return f"/{FENCE_CHUNK}/" in key

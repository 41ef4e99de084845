"""What a subscriber receives: a Zenoh sample with its place."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec
import zenoh

from zonal.errors import AttachmentError, LocationKeyError, PayloadError
from zonal.geo import Area, Cell, Point
from zonal.keys import is_exact, is_plain, location_of, read_key, topic_of
from zonal.session.geo_context import GeoContext, source_of
from zonal.trust import SEALED_ENCODING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator
    from types import EllipsisType

    from zenoh import Encoding, SampleKind, Timestamp, ZBytes
    from zenoh import Sample as ZenohSample

    from zonal.keys import Place


_SHOWN = 60


class Source(NamedTuple):
    """Which session sent a message, and its number there.

    Numbers increase and wrap at 2³². A publisher that stays at its place does not number its
    messages; their number is Zenoh's time stamp (64 bits), which increases as well and is set by
    the session itself or, for a client, by its router.
    """

    id: str
    sequence: int


class Sample(msgspec.Struct, eq=False, gc=False):
    """A message: Zenoh's own sample, and the geo-context that came with it."""

    # A structure is made without a function of Python's, in a third of the time; and the garbage
    # collector need not know it, as nothing that it holds leads back to it.

    zenoh: ZenohSample
    payload: ZBytes
    """The user's own bytes."""
    # Not asked of Zenoh's sample when it is wanted, as a property: that would take half as long
    # again, and nearly everybody wants it.
    place: Place | None
    """Where it was published: a point, the cell of a blurred place, or None."""
    _context: GeoContext | EllipsisType | None = ...

    @property
    def context(self) -> GeoContext | None:
        """The whole geo-context; None for a plain message. Read when first asked for."""
        context = self._context
        if context is ...:
            context = self._context = _context_at(self.zenoh, self.place)
        return context

    @property
    def key(self) -> str:
        """The topic, without its location key."""
        return topic_of(str(self.zenoh.key_expr))

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
        context = self._context
        # Not read yet: there is nothing but a place and a source.
        return None if context is None or context is ... else context.fence

    @property
    def text(self) -> str:
        """The payload as UTF-8; `PayloadError` if it is none."""
        try:
            return self.payload.to_bytes().decode()
        except UnicodeDecodeError as error:
            raise PayloadError(f"the payload of {self.key!r} is no text: {error}") from error

    def json(self) -> Any:
        """The payload read as JSON, whatever its content encoding; `PayloadError` if it is none."""
        try:
            return json.loads(self.payload.to_bytes())
        except (ValueError, RecursionError) as error:
            raise PayloadError(f"the payload of {self.key!r} is no JSON: {error}") from error

    @property
    def kind(self) -> SampleKind:
        """PUT or DELETE."""
        return self.zenoh.kind

    @property
    def content_encoding(self) -> Encoding:
        """What the payload is, by Zenoh's list of encodings."""
        return self.zenoh.encoding

    @property
    def is_sealed(self) -> bool:
        """Whether the payload is sealed, and was not opened."""
        return str(self.content_encoding) == SEALED_ENCODING

    @property
    def timestamp(self) -> Timestamp | None:
        """Zenoh's time stamp, if a router or the publisher set one."""
        return self.zenoh.timestamp

    @property
    def source(self) -> Source | None:
        """Who sent it, and its number there."""
        context = self._context
        if context is ...:
            origin, sequence = _source_at(self.zenoh)
        else:
            origin, sequence = (None, 0) if context is None else context[:2]
        if origin is not None:
            return Source(name_of(origin), sequence)
        info = self.zenoh.source_info
        return None if info is None else Source(str(info.source_id.zid), int(info.source_sn))

    @property
    def attachment(self) -> bytes | None:
        """The user's own attachment."""
        context = self.context
        if context is not None:
            return context.user
        attachment = self.zenoh.attachment
        return None if attachment is None else attachment.to_bytes()

    def __repr__(self) -> str:
        payload = self.payload.to_bytes()
        shown = payload[:_SHOWN].decode(errors="backslashreplace")
        if len(payload) > _SHOWN:
            shown = f"{shown}… ({len(payload):,} bytes)"
        near = "near " if self.is_blurred else ""
        return (
            f"Sample({str(self.kind).rpartition('.')[2]} {self.key!r} from {near}{self.location}: "
            f"{shown})"
        )


class OpenedSample(Sample, kw_only=True):
    """A sealed message whose payload was opened."""

    opened_encoding: Encoding

    @classmethod
    def of(cls, sealed: Sample, payload: bytes, encoding: str) -> Self:
        """The message with what was sealed in it."""
        return cls(
            sealed.zenoh,
            zenoh.ZBytes(payload),
            sealed.place,
            sealed.context,
            opened_encoding=zenoh.Encoding(encoding),
        )

    @property
    def content_encoding(self) -> Encoding:
        """What the opened payload is."""
        return self.opened_encoding


class AdminSample(Sample):
    """An answer of Zenoh's admin space, whose keys contain others and have no place."""

    @classmethod
    def of(cls, sample: ZenohSample) -> Self:
        """Zenoh's own as one of ours."""
        return cls(sample, sample.payload, None, None)

    @property
    def key(self) -> str:
        """The whole key."""
        return str(self.zenoh.key_expr)


def context_of(sample: zenoh.Sample) -> GeoContext | None:
    """The geo-context of a sample; None for a plain one, an error for a location key without it."""
    attachment = sample.attachment
    key = str(sample.key_expr)
    if is_exact(key):
        return _stamped_context(sample, key)
    if attachment is not None:
        stamp = sample.timestamp
        origin = None if stamp is None else origin_of(str(stamp.get_id()))
        try:
            return GeoContext.from_bytes(attachment.to_bytes(), location_of(key), origin)
        except AttachmentError:
            if is_plain(key):
                return None  # a plain message with an attachment of its own
            raise
    if not is_plain(key):
        raise AttachmentError(f"a location key without a geo-context: {key}")
    return None


def copy_mark(sample: zenoh.Sample, identity: int | None = None) -> int | None:
    """What all copies of a message have in common, and no other message has; None: not known.

    That is the time stamp, without one the `identity` that the message claims (of a plain message
    the number that Zenoh's publisher gave it); and in any case
    the attachment (of a message without one the key, which says who sent it) and the payload: who
    claims somebody else's stamp or number in advance has neither. All of it in a number of 64 bits
    that nobody outside can foresee, since Python hashes bytes anew in each process.
    """
    stamp, attachment, info = sample.timestamp, sample.attachment, sample.source_info
    name: Hashable = identity if stamp is None else stamp
    if info is not None and is_plain(str(sample.key_expr)):
        # A router stamps what comes to us, but not what a publisher's memory answers.
        name = (str(info.source_id.zid), info.source_id.eid, info.source_sn)
    if name is None:
        return None
    said = str(sample.key_expr) if attachment is None else attachment.to_bytes()
    return mark_of(sample, name, said)


def mark_of(sample: zenoh.Sample, name: Hashable, said: str | bytes) -> int:
    """The same for a message of which all else is known, see `copy_mark`."""
    return next(marks_of((name,), (said,), (sample.payload.to_bytes(),)))


def marks_of(
    names: Iterable[Hashable], said: Iterable[str | bytes], payloads: Iterable[bytes]
) -> Iterator[int]:
    """The same for many messages, see `copy_mark`."""
    return map(hash, zip(names, said, payloads, strict=True))


@lru_cache(maxsize=65_536)
def _read_exact_key(key: str) -> tuple[Point, int]:
    try:
        return read_key(key).read_exact()
    except LocationKeyError as error:
        raise AttachmentError(str(error)) from error


def origin_in(key: str) -> int:
    """The origin that an exact key says."""
    return _read_exact_key(key)[1]


def _stamped_context(sample: zenoh.Sample, key: str) -> GeoContext:
    """Place and source are in the key, its number is the time; the attachment is the user's."""
    origin, sequence = _stamped_source(sample, key)
    attachment = sample.attachment
    return GeoContext(
        origin=origin,
        sequence=sequence,
        place=_read_exact_key(key)[0],
        user=None if attachment is None else attachment.to_bytes(),
    )


def _stamped_source(sample: zenoh.Sample, key: str) -> tuple[int | None, int]:
    origin, stamp = _read_exact_key(key)[1], sample.timestamp
    return (None, 0) if stamp is None else (origin, int(str(stamp).partition("/")[0]))


def _source_at(sample: zenoh.Sample) -> tuple[int | None, int]:
    """Origin and number of a sample that is from a known place, and says nothing else."""
    key = str(sample.key_expr)
    if is_exact(key):
        return _stamped_source(sample, key)
    attachment, stamp = sample.attachment, sample.timestamp
    assert attachment is not None  # there the point is that is not in the key
    origin = None if stamp is None else origin_of(str(stamp.get_id()))
    return source_of(attachment.to_bytes(), origin)


def _context_at(sample: zenoh.Sample, place: Place | None) -> GeoContext | None:
    """That of a sample whose place was read, when there is nothing else but its source."""
    key = str(sample.key_expr)
    if is_exact(key):
        return _stamped_context(sample, key)
    return GeoContext(*_source_at(sample), place)


@lru_cache(maxsize=4096)
def name_of(origin: int) -> str:
    """The name of a source, see `Source.id`."""
    return f"{origin:016x}"


@lru_cache(maxsize=4096)
def origin_of(zenoh_id: str) -> int:
    """The origin that a session's Zenoh id stands for: its low 64 bits."""
    return int(zenoh_id, 16) & 0xFFFF_FFFF_FFFF_FFFF

"""Samples as they arrive, gathered into columns of the log."""

from __future__ import annotations

import math
import time
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import zenoh

from zonal.geo import Cell
from zonal.keys import topic_of
from zonal.pipeline.cells import cell_ids
from zonal.pipeline.schema import MESSAGE_SCHEMA
from zonal.pipeline.shapes import area_to_columns
from zonal.session import SampleColumns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import EllipsisType

    from zonal.session import GeoContext, Sample

_LAST = 2**63 - 1
_KIND = attrgetter("kind")

_Identity: TypeAlias = tuple[str | None, int | None]
"""Whose message it is, and its number there."""
_PUT = zenoh.SampleKind.PUT


class MessageColumns(NamedTuple):
    """Messages before they have offsets, a list for each column.

    Lists, because a message is in them for some microseconds of work only: objects for each would
    cost more than all the rest.
    """

    topic: list[str]
    latitude: list[float]
    longitude: list[float]
    geofence: list[bytes | None]
    geofence_radius_m: list[float | None]
    payload: list[bytes]
    encoding: list[str]
    kind: list[str]
    ntp64: list[int | None]
    clock: list[str | None]
    source: list[str | None]
    sequence: list[int | None]
    received: list[int]

    @classmethod
    def empty(cls) -> Self:
        """Without a message."""
        return cls._make([] for _ in cls._fields)

    @property
    def rows(self) -> int:
        """How many messages there are."""
        return len(self.topic)

    @property
    def weight(self) -> int:
        """How many bytes they have that strangers may choose, together."""
        texts = self.payload, self.topic, self.encoding, filter(None, self.geofence)
        return sum(sum(map(len, each)) for each in texts)

    def contents(self) -> Iterable[int]:
        """What each says, in a number: that of all its copies, and of no other message."""
        return map(
            hash,
            zip(self.topic, self.kind, self.latitude, self.longitude, self.payload, strict=True),
        )

    def split(self, at: int) -> tuple[Self, Self]:
        """The first so many messages, and the others."""
        columns = self._columns
        first, others = ([one[:at] for one in columns], [one[at:] for one in columns])
        return type(self)._make(first), type(self)._make(others)

    def where(self, kept: Sequence[bool]) -> Self:
        """The messages that are marked."""
        return type(self)._make(list(compress(column, kept)) for column in self._columns)

    def extend(self, more: MessageColumns) -> None:
        """Put other messages behind these."""
        for mine, others in zip(self._columns, more._columns, strict=True):
            mine.extend(others)

    @property
    def _columns(self) -> Sequence[list[Any]]:
        return cast("Sequence[list[Any]]", self)

    def to_table(self) -> pa.Table:
        """The columns of MESSAGE_SCHEMA."""
        lats, lons = np.array(self.latitude), np.array(self.longitude)
        absent = np.isnan(lats)
        cells = np.zeros(len(lats), np.int64)
        cells[~absent] = cell_ids(lats[~absent], lons[~absent])
        ntp64, clock = _stamp_columns(self.ntp64, self.clock)
        return pa.table(
            {
                **self._asdict(),
                "latitude": pa.array(lats, mask=absent),
                "longitude": pa.array(lons, mask=absent),
                "cell": pa.array(cells, mask=absent),
                "timestamp": _times(ntp64),
                "ntp64": ntp64,
                "clock": clock,
                "received": pa.array(self.received, pa.timestamp("us", tz="UTC")),
            },
            schema=MESSAGE_SCHEMA,
        )


def columns_of(samples: Sequence[Sample]) -> MessageColumns:
    """What the log keeps of samples that are received now."""
    read = SampleColumns.of(samples)
    count = len(read)
    topics = {key: topic_of(key) for key in set(read.keys)}
    points = [place.center if isinstance(place, Cell) else place for place in read.places]
    fences, radii_m = _fences(read.contexts)
    sources, numbers = read.sources()
    for row, (point, number) in enumerate(zip(points, numbers, strict=True)):
        if point is None and fences[row] is None:
            sources[row], numbers[row] = _publisher_of(read.raws[row])
        elif number is not None and number > _LAST:
            sources[row] = numbers[row] = None
    now = time.time_ns() // 1000
    return MessageColumns(
        list(map(topics.__getitem__, read.keys)),
        [math.nan if point is None else point.lat for point in points],
        [math.nan if point is None else point.lon for point in points],
        fences,
        radii_m,
        read.payloads,
        _texts(read.encodings),
        _kinds(read.raws),
        read.times,
        read.clocks,
        sources,
        numbers,
        [now] * count,
    )


def _fences(
    contexts: list[GeoContext | EllipsisType | None],
) -> tuple[list[bytes | None], list[float | None]]:
    if contexts.count(...) == len(contexts):
        return [None] * len(contexts), [None] * len(contexts)
    fences = [None if context is ... or context is None else context.fence for context in contexts]
    columns = [(None, None) if fence is None else area_to_columns(fence) for fence in fences]
    return [fence for fence, _ in columns], [radius_m for _, radius_m in columns]


def _texts(encodings: list[zenoh.Encoding]) -> list[str]:
    """Mostly it is one."""
    if encodings.count(encodings[0]) == len(encodings):
        return [str(encodings[0])] * len(encodings)
    return list(map(str, encodings))


def _kinds(raws: list[zenoh.Sample]) -> list[str]:
    return ["put" if kind == _PUT else "delete" for kind in map(_KIND, raws)]


def _publisher_of(raw: zenoh.Sample) -> _Identity:
    """Which message of a Zenoh publisher this is, where no session of ours numbered it."""
    info = raw.source_info
    if info is None:
        return None, None
    # A session may have several publishers, and each counts for itself.
    return f"{info.source_id.zid}:{info.source_id.eid}", int(info.source_sn)


def _stamp_columns(times: list[int | None], clocks: list[str | None]) -> tuple[pa.Array, pa.Array]:
    """A stamp that the column cannot hold (from January 2038 on) is left out."""
    numbers = pa.array(times, pa.uint64())
    fits = pc.less_equal(numbers, pa.scalar(_LAST, pa.uint64()))
    ntp64 = pc.if_else(fits, numbers, None).cast(pa.int64())
    return ntp64, pc.if_else(fits, pa.array(clocks, pa.string()), None)


def _times(ntp64s: pa.Array) -> pa.Array:
    """Zenoh's time stamps (32 bits of seconds since 1970, 32 of fraction) as microseconds."""
    absent = ntp64s.is_null().to_numpy(zero_copy_only=False)
    values = ntp64s.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    seconds, fraction = values >> 32, values & 0xFFFFFFFF
    micros = seconds * 1_000_000 + ((fraction * 1_000_000) >> 32)
    return pa.array(micros, mask=absent).cast(pa.timestamp("us", tz="UTC"))

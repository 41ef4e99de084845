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

from zonal.keys import topic_of
from zonal.pipeline.cells import cell_ids
from zonal.pipeline.schema import MESSAGE_SCHEMA
from zonal.pipeline.shapes import area_to_columns
from zonal.session import sources_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from zonal.session import Sample

_LAST = 2**63 - 1
_ZENOH, _PLACE, _FENCE = attrgetter("zenoh"), attrgetter("location"), attrgetter("geofence")
_PAYLOAD, _ENCODING = attrgetter("payload"), attrgetter("content_encoding")
_KEY, _STAMP, _KIND = attrgetter("key_expr"), attrgetter("timestamp"), attrgetter("kind")
_NO_FENCE = (None, None)

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
    stamp: list[str | None]
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
        ntp64, clock = _stamp_columns(self.stamp)
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
    raws, places = list(map(_ZENOH, samples)), list(map(_PLACE, samples))
    keys = list(map(str, map(_KEY, raws)))
    topics = {key: topic_of(key) for key in set(keys)}
    stamps = [None if stamp is None else str(stamp) for stamp in map(_STAMP, raws)]
    fences = [
        _NO_FENCE if fence is None else area_to_columns(fence) for fence in map(_FENCE, samples)
    ]
    sources: list[_Identity] = [
        (None, None) if source is None or source[1] > _LAST else source
        for source in sources_of(samples, keys, stamps)
    ]
    for row, place in enumerate(places):
        if place is None and fences[row][0] is None:
            sources[row] = _publisher_of(raws[row])
    now = time.time_ns() // 1000
    return MessageColumns(
        list(map(topics.__getitem__, keys)),
        [math.nan if place is None else place.lat for place in places],
        [math.nan if place is None else place.lon for place in places],
        [geofence for geofence, _ in fences],
        [radius_m for _, radius_m in fences],
        [payload.to_bytes() for payload in map(_PAYLOAD, samples)],
        list(map(str, map(_ENCODING, samples))),
        ["put" if kind == _PUT else "delete" for kind in map(_KIND, raws)],
        stamps,
        [source for source, _ in sources],
        [sequence for _, sequence in sources],
        [now] * len(raws),
    )


def _publisher_of(raw: zenoh.Sample) -> _Identity:
    """Which message of a Zenoh publisher this is, where no session of ours numbered it."""
    info = raw.source_info
    if info is None:
        return None, None
    # A session may have several publishers, and each counts for itself.
    return f"{info.source_id.zid}:{info.source_id.eid}", int(info.source_sn)


def _stamp_columns(stamps: list[str | None]) -> tuple[pa.Array, pa.Array]:
    """Time and clock of "<NTP64>/<id of the clock>", the exact form that Zenoh writes.

    A stamp that the column cannot hold (from January 2038 on) is left out.
    """
    parts = pc.split_pattern(pa.array(stamps, pa.string()), "/", max_splits=1)
    numbers = pc.list_element(parts, 0).cast(pa.uint64())
    fits = pc.less_equal(numbers, pa.scalar(_LAST, pa.uint64()))
    ntp64 = pc.if_else(fits, numbers, None).cast(pa.int64())
    return ntp64, pc.if_else(fits, pc.list_element(parts, 1), None)


def _times(ntp64s: pa.Array) -> pa.Array:
    """Zenoh's time stamps (32 bits of seconds since 1970, 32 of fraction) as microseconds."""
    absent = ntp64s.is_null().to_numpy(zero_copy_only=False)
    values = ntp64s.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    seconds, fraction = values >> 32, values & 0xFFFFFFFF
    micros = seconds * 1_000_000 + ((fraction * 1_000_000) >> 32)
    return pa.array(micros, mask=absent).cast(pa.timestamp("us", tz="UTC"))

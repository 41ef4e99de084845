"""Samples as they arrive, gathered into columns of the log."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import zenoh

from zonal.pipeline.cells import cell_ids
from zonal.pipeline.schema import MESSAGE_SCHEMA
from zonal.pipeline.shapes import area_to_columns

if TYPE_CHECKING:
    from zonal.session import Sample

Identity = tuple[str | None, int | None]


class MessageRow(NamedTuple):
    """One message, before it has an offset; the order is that of the columns."""

    topic: str
    latitude: float
    longitude: float
    geofence: bytes | None
    geofence_radius_m: float | None
    payload: bytes
    encoding: str
    kind: str
    stamp: str | None
    source: str | None
    sequence: int | None
    received: int

    @property
    def content(self) -> int:
        """What it says, in a number: that of all its copies, and of no other message."""
        return hash((self.topic, self.kind, self.latitude, self.longitude, self.payload))


def identity_of(sample: Sample) -> Identity:
    """Which message this is: the sending session's own number, or the Zenoh publisher's."""
    if sample.location is None and sample.geofence is None:
        info = sample.zenoh.source_info
        if info is None:
            return None, None
        # A session may have several publishers, and each counts for itself.
        return f"{info.source_id.zid}:{info.source_id.eid}", int(info.source_sn)
    source = sample.source
    return (source.id, source.sequence) if source else (None, None)


def row_of(sample: Sample) -> MessageRow:
    """What the log keeps of a sample that is received now."""
    source, sequence = identity_of(sample)
    place, fence, stamp = sample.location, sample.geofence, sample.timestamp
    geofence, radius_m = area_to_columns(fence) if fence is not None else (None, None)
    return MessageRow(
        sample.key,
        math.nan if place is None else place.lat,
        math.nan if place is None else place.lon,
        geofence,
        radius_m,
        sample.payload.to_bytes(),
        str(sample.content_encoding),
        "put" if sample.kind == zenoh.SampleKind.PUT else "delete",
        None if stamp is None else str(stamp),
        source,
        sequence,
        time.time_ns() // 1000,
    )


def rows_to_table(rows: list[MessageRow]) -> pa.Table:
    """The columns of MESSAGE_SCHEMA."""
    columns = MessageRow(*map(list, zip(*rows, strict=True)))  # type: ignore[arg-type]
    lats, lons = np.array(columns.latitude), np.array(columns.longitude)
    absent = np.isnan(lats)
    cells = np.zeros(len(lats), np.int64)
    cells[~absent] = cell_ids(lats[~absent], lons[~absent])
    # "<NTP64>/<id of the clock>", the exact form that Zenoh writes a time stamp in.
    stamps = [(None, None) if one is None else one.split("/", 1) for one in columns.stamp or ()]
    ntp64s = [None if time is None else int(time) for time, _ in stamps]
    return pa.table(
        {
            **columns._asdict(),
            "latitude": pa.array(lats, mask=absent),
            "longitude": pa.array(lons, mask=absent),
            "cell": pa.array(cells, mask=absent),
            "timestamp": _times(pa.array(ntp64s, pa.int64())),
            "ntp64": ntp64s,
            "clock": [clock for _, clock in stamps],
            "received": pa.array(columns.received, pa.timestamp("us", tz="UTC")),
        },
        schema=MESSAGE_SCHEMA,
    )


def _times(ntp64s: pa.Array) -> pa.Array:
    """Zenoh's time stamps (32 bits of seconds since 1970, 32 of fraction) as microseconds."""
    absent = ntp64s.is_null().to_numpy(zero_copy_only=False)
    values = ntp64s.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    seconds, fraction = values >> 32, values & 0xFFFFFFFF
    micros = seconds * 1_000_000 + ((fraction * 1_000_000) >> 32)
    return pa.array(micros, mask=absent).cast(pa.timestamp("us", tz="UTC"))

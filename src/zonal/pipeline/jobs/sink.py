"""`writeStream.format("zonal")`: rows become location-aware messages on the network.

Columns: `topic` and `payload`; optionally `latitude` and `longitude`, `geofence` (WKT text, or WKB
with `geofence_radius_m` for a circle), `encoding` (of the content) and `id`. Each task opens a
session of its own: sessions do not survive the fork of Spark's workers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import zenoh
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from zonal.errors import DeclarationError
from zonal.geo import Point, area_from_wkt
from zonal.pipeline.jobs.options import NETWORK_OPTIONS, known_options, open_session
from zonal.pipeline.shapes import area_from_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from zonal.geo import Area
    from zonal.session import Session

WRITE_OPTIONS = {
    **NETWORK_OPTIONS,
    "linger": "seconds that a task waits after its last message, for the network to take it",
    "checkpointlocation": "Spark's own",
}
_COLUMNS = {
    "topic": ("string",),
    "payload": ("binary", "string"),
    "latitude": ("double",),
    "longitude": ("double",),
    "geofence": ("string", "binary"),
    "geofence_radius_m": ("double",),
    "encoding": ("string",),
    "id": ("string",),
}


@dataclass
class PublishedCount(WriterCommitMessage):
    """How many messages a task sent."""

    count: int


class _RowWriter:
    """What a batch and a stream writer do alike: send each row as a message."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self.options = known_options(options, WRITE_OPTIONS, "sink")
        _check_columns(schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PublishedCount:
        """Send the rows of one task."""
        count = 0
        with open_session(self.options) as session:
            for batch in iterator:
                for row in batch.to_pylist():
                    publish_row(session, row)
                    count += 1
            if count:
                time.sleep(float(self.options.get("linger", "0.2")))
        return PublishedCount(count)


class ZonalWriter(_RowWriter, DataSourceArrowWriter):
    """Sends the rows of a batch."""


class ZonalStreamWriter(_RowWriter, DataSourceStreamArrowWriter):
    """Sends the rows of a stream: at least once, for a batch that fails is sent again."""


def publish_row(session: Session, row: Mapping[str, Any]) -> None:
    """Publish one row as a message."""
    lat, lon = row.get("latitude"), row.get("longitude")
    identity = row.get("id")
    session.put(
        row["topic"],
        row["payload"] if row["payload"] is not None else b"",
        location=None if lat is None or lon is None else Point(lat, lon),
        geofence=_geofence(row),
        content_encoding=row.get("encoding"),
        attachment=identity.encode() if identity else None,
        congestion_control=zenoh.CongestionControl.BLOCK,
    )


def _geofence(row: Mapping[str, Any]) -> Area | None:
    geofence = row.get("geofence")
    if isinstance(geofence, str):
        return area_from_wkt(geofence)
    return area_from_columns(geofence, row.get("geofence_radius_m"))


def _check_columns(schema: StructType) -> None:
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    for name in ("topic", "payload"):
        if name not in types:
            raise DeclarationError(f"a sink needs the column {name}; the rows have {list(types)}")
    for name, kind in types.items():
        allowed = _COLUMNS.get(name)
        if allowed is None:
            raise DeclarationError(f"a sink knows no column {name!r}; it knows {list(_COLUMNS)}")
        if kind not in allowed:
            raise DeclarationError(f"column {name} is {kind}, not {' or '.join(allowed)}")

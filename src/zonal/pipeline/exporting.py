"""Rows of a lake's table for other tools: GeoParquet, GeoJSON (a line each) or CSV.

Geometry is a point where a message was sent, in longitude and latitude (OGC:CRS84); rows without a
place have none. GeoParquet after its specification 1.1 (geoparquet.org): a column of WKB, described
in the file's metadata.
"""

from __future__ import annotations

import base64
import json
from contextlib import closing
from datetime import date, datetime
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import shapely
from deltalake.exceptions import DeltaError

from zonal.errors import DeclarationError, LakeError
from zonal.pipeline.selection import area_mask, topic_mask

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from zonal.pipeline.lake import Lake
    from zonal.pipeline.selection import Selection

FORMATS = ("geoparquet", "geojson", "csv")
_GEO = {
    "version": "1.1.0",
    "primary_column": "geometry",
    "columns": {"geometry": {"encoding": "WKB", "geometry_types": ["Point"]}},
}


def export(
    lake: Lake,
    table: str,
    path: Path,
    kind: str,
    selection: Selection,
    *,
    version: int | None = None,
    tell: Callable[[int], None] | None = None,
) -> int:
    """Write the wanted rows of a table into a file; returns how many. `tell` hears of progress."""
    if kind not in FORMATS:
        raise DeclarationError(f"format {kind!r} is not one of {', '.join(FORMATS)}")
    delta = lake.existing(table, version)
    dataset = delta.to_pyarrow_dataset()
    wanted = _narrowed(selection, set(dataset.schema.names))
    count = 0
    try:
        with closing(_WRITERS[kind](path, dataset.schema)) as writer:
            for batch in dataset.to_batches(filter=wanted):
                rows = _exact(batch, selection)
                if rows.num_rows:
                    writer.write(rows)
                    count += rows.num_rows
                    if tell:
                        tell(count)
    except (DeltaError, pa.ArrowException) as error:
        raise LakeError(f"{delta.table_uri} cannot be exported: {error}") from error
    return count


def _narrowed(selection: Selection, columns: set[str]) -> Any:
    needed = {"latitude"} if selection.area is not None else set()
    needed |= {"time"} if selection.since or selection.until else set()
    needed |= {"topic"} if selection.topic else set()
    if missing := sorted(needed - columns):
        raise DeclarationError(f"rows cannot be chosen so: the table has no column {missing[0]}")
    parts = [selection.expression(has_time=True)]  # by which files are left out
    parts.append(pc.field("time") >= selection.since if selection.since else None)
    parts.append(pc.field("time") <= selection.until if selection.until else None)
    return reduce(and_, filter(lambda part: part is not None, parts), pc.scalar(True))


def _exact(batch: pa.RecordBatch, selection: Selection) -> pa.RecordBatch:
    if selection.topic is not None:
        batch = batch.filter(topic_mask(batch.column("topic"), selection.topic))
    if selection.area is not None and batch.num_rows:
        batch = batch.filter(area_mask(batch, selection.area))
    return batch


def _points(batch: pa.RecordBatch) -> Any:
    lats, lons = (
        batch.column(name).to_numpy(zero_copy_only=False).astype(np.float64)
        for name in ("latitude", "longitude")
    )
    points = shapely.points(np.nan_to_num(lons), np.nan_to_num(lats))
    points[np.isnan(lats) | np.isnan(lons)] = None
    return points


class _GeoParquet:
    """Columns as they are, and `geometry`."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._placed = "latitude" in schema.names
        if self._placed:
            schema = schema.append(pa.field("geometry", pa.binary()))
            schema = schema.with_metadata({"geo": json.dumps(_GEO)})
        self._schema = schema
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")

    def write(self, batch: pa.RecordBatch) -> None:
        columns = list(batch.columns)
        if self._placed:
            columns.append(pa.array(shapely.to_wkb(_points(batch)), pa.binary()))
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


class _GeoJson:
    """A feature collection, a feature a line."""

    def __init__(self, path: Path, _: pa.Schema) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._file.write('{"type": "FeatureCollection", "features": [')
        self._first = True

    def write(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            lat, lon = row.get("latitude"), row.get("longitude")
            point = {"type": "Point", "coordinates": [lon, lat]}
            feature = {
                "type": "Feature",
                "geometry": None if lat is None or lon is None else point,
                "properties": {name: _plain(value) for name, value in row.items()},
            }
            self._file.write("\n" if self._first else ",\n")
            self._file.write(json.dumps(feature, ensure_ascii=False))
            self._first = False

    def close(self) -> None:
        self._file.write("\n]}\n")
        self._file.close()


class _Csv:
    """Columns as text; bytes that are no text as Base64."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        binary = {field.name for field in schema if pa.types.is_binary(field.type)}
        self._schema = pa.schema(
            [
                pa.field(field.name, pa.string() if field.name in binary else field.type)
                for field in schema
            ]
        )
        self._writer = pa_csv.CSVWriter(path, self._schema)

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [
            pa.array([_plain(value) for value in column.to_pylist()], pa.string())
            if pa.types.is_binary(column.type)
            else column
            for column in batch.columns
        ]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


_WRITERS: dict[str, Any] = {"geoparquet": _GeoParquet, "geojson": _GeoJson, "csv": _Csv}


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, datetime | date) else value

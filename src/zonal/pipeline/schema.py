"""The columns of the log: one row is one message as the recorder received it."""

from __future__ import annotations

import pyarrow as pa

UTC_MICROS = pa.timestamp("us", tz="UTC")
"""The type of every time in the pipeline's tables."""

# A circle has no well-known binary form: its row holds the centre in `geofence` and the radius
# beside it. `timestamp` is for people and pruning; `ntp64` with `clock` is Zenoh's exact stamp.
LOG_SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64()),
        pa.field("topic", pa.string()),
        pa.field("latitude", pa.float64()),
        pa.field("longitude", pa.float64()),
        pa.field("geofence", pa.binary()),
        pa.field("geofence_radius_m", pa.float64()),
        pa.field("cell", pa.int64()),
        pa.field("payload", pa.binary()),
        pa.field("encoding", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("timestamp", UTC_MICROS),
        pa.field("ntp64", pa.int64()),
        pa.field("clock", pa.string()),
        pa.field("source", pa.string()),
        pa.field("sequence", pa.int64()),
        pa.field("received", UTC_MICROS),
    ]
)
# What a caller hands to the log, which gives the offsets itself.
MESSAGE_SCHEMA = pa.schema([field for field in LOG_SCHEMA if field.name != "offset"])

LOG_COLUMNS: tuple[str, ...] = tuple(LOG_SCHEMA.names)

_SQL_TYPES = {
    pa.int64(): "BIGINT",
    pa.string(): "STRING",
    pa.float64(): "DOUBLE",
    pa.binary(): "BINARY",
    UTC_MICROS: "TIMESTAMP",
}


def ddl(schema: pa.Schema) -> str:
    """Columns as Spark writes them in SQL."""
    return ", ".join(f"`{field.name}` {_SQL_TYPES[field.type]}" for field in schema)


def log_ddl(columns: tuple[str, ...] = LOG_COLUMNS) -> str:
    """Columns of the log (all, or some) as Spark writes them in SQL."""
    return ddl(pa.schema([LOG_SCHEMA.field(name) for name in columns]))

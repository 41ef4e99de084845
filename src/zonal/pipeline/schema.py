"""The columns of the log: one row is one message as the recorder received it."""

from __future__ import annotations

import pyarrow as pa

UTC_MICROS = pa.timestamp("us", tz="UTC")
"""The type of every time in the pipeline's tables."""

# What a caller hands to the log, which gives the offsets itself. A circle has no well-known binary
# form: its row holds the centre in `geofence` and the radius beside it. `timestamp` is for people
# and pruning; `ntp64` with `clock` is Zenoh's exact stamp.
MESSAGE_SCHEMA = pa.schema(
    [
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
LOG_SCHEMA = pa.schema(
    [pa.field("recorder", pa.string()), pa.field("offset", pa.int64()), *MESSAGE_SCHEMA]
)
LOG_COLUMNS: tuple[str, ...] = tuple(LOG_SCHEMA.names)

BRONZE_SCHEMA = LOG_SCHEMA.append(pa.field("date", pa.date32()))
"""As the Delta table has them: partitioned by the day (UTC) of reception."""

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

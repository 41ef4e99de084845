"""Which subscriber would have got which message, and how many too many without geo-contexts.

A distributed spatial join: messages and subscriptions meet in the S2 cell of a coarse level that
both are in (the join key), and within a cell `matching` does the rest.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import zenoh
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

from zonal.errors import DeclarationError
from zonal.geo import EARTH_RADIUS_M, Cell, area_from_wkt
from zonal.pipeline.cells import cover_ranges, parent_sql, signed, unsigned
from zonal.pipeline.matching import (
    MESSAGE_COLUMNS,
    SUBSCRIPTION_COLUMNS,
    Wanted,
    match,
    match_counts,
)
from zonal.pipeline.shapes import area_to_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

_EXPLODED = (
    f"{SUBSCRIPTION_COLUMNS}, ranges ARRAY<STRUCT<low: BIGINT, high: BIGINT>>, "
    "place BIGINT, part INT"
)
# Areas that reach over more cells than this meet every message, like the whole network does.
_MOST_CELLS = 256
_EVERYWHERE = 0
_PARTS = 8
# S2's kMinWidth for its quadratic projection: no cell of level k is narrower than this / 2^k.
_LEAST_WIDTH = 2 * 2**0.5 / 3


def deliveries(messages: DataFrame, subscriptions: DataFrame, *, level: int = 10) -> DataFrame:
    """Every delivery: message `id` and `subscriber`.

    The tables have at least the columns of `MESSAGE_COLUMNS` and `SUBSCRIPTION_COLUMNS`; `level` is
    the S2 level of the cells that they meet in.
    """
    return _joined(messages, subscriptions, level, match, "id BIGINT, subscriber STRING")


def delivery_counts(messages: DataFrame, subscriptions: DataFrame, *, level: int = 10) -> DataFrame:
    """How many messages each subscriber gets; no pair leaves its task."""
    counted = _joined(
        messages, subscriptions, level, match_counts, "subscriber STRING, count BIGINT"
    )
    return counted.groupBy("subscriber").agg(F.sum("count").alias("count"))


def excess(messages: DataFrame, subscriptions: DataFrame, *, level: int = 10) -> DataFrame:
    """Per subscriber: deliveries with geo-contexts, by content alone, and the share too many."""
    geo = delivery_counts(messages, subscriptions, level=level)
    plain = content_counts(messages, subscriptions)
    both = plain.join(geo.withColumnRenamed("count", "geo"), "subscriber", "left")
    return both.select(
        "subscriber",
        F.coalesce("geo", F.lit(0)).cast("bigint").alias("geo"),
        F.col("count").alias("no_geo"),
        (1 - F.coalesce("geo", F.lit(0)) / F.col("count")).alias("excess"),
    )


def content_counts(messages: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """How many messages each subscriber would get if only topics (and times) counted."""
    rows = [
        row.asDict() for row in _checked(subscriptions, SUBSCRIPTION_COLUMNS).drop("area").collect()
    ]
    wanted = [Wanted.from_row({**row, "area": None}) for row in rows]

    def count(table: pa.Table) -> pa.Table:
        times = np.sort(
            table["time"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy()
        )
        since = np.searchsorted(times, [one.since_us for one in wanted])
        until = np.searchsorted(times, [one.until_us for one in wanted])
        hit = _topic_mask(table["topic"][0].as_py(), wanted)
        counts = np.where(hit, until - since, 0)
        names = pa.array([one.subscriber for one in wanted])
        return pa.table({"subscriber": names, "count": pa.array(counts, pa.int64())})

    narrow = _checked(messages, MESSAGE_COLUMNS).select("topic", "time")
    parts = narrow.groupBy("topic").applyInArrow(count, "subscriber STRING, count BIGINT")
    return parts.groupBy("subscriber").agg(F.sum("count").alias("count")).where("count > 0")


def log_messages(log: DataFrame) -> DataFrame:
    """Rows of the log (or of silver) as the join wants them."""
    return log.select(
        F.col("offset").alias("id"),
        "topic",
        F.coalesce("timestamp", "received").alias("time"),
        "latitude",
        "longitude",
        "cell",
        "geofence",
        "geofence_radius_m",
    )


def subscriptions_from_csv(spark: SparkSession, path: str | Path) -> DataFrame:
    """Subscriptions for `deliveries` from CSV: subscriber, topic, area (WKT), latitude, longitude.

    All but the first two may be empty; a circle is `CIRCLE (lon lat, metres)`.
    """
    with Path(path).open(newline="") as file:
        reader = csv.DictReader(file)
        missing = {"subscriber", "topic"} - set(reader.fieldnames or ())
        if missing:
            raise DeclarationError(f"{path} has no column {min(missing)}")
        rows = [_subscription(row, f"{path}, line {reader.line_num}") for row in reader]
    return spark.createDataFrame(rows, SUBSCRIPTION_COLUMNS)


def _joined(
    messages: DataFrame,
    subscriptions: DataFrame,
    level: int,
    produce: Callable[[pa.Table, pa.Table], pa.Table],
    ddl: str,
) -> DataFrame:
    wanted = _checked(subscriptions, SUBSCRIPTION_COLUMNS)
    exploded = _exploded(wanted, level)
    everywhere = _any_everywhere(wanted, level)
    placed = _placed(_checked(messages, MESSAGE_COLUMNS), level, everywhere=everywhere)

    left, right = placed.groupBy("place", "part"), exploded.groupBy("place", "part")
    return left.cogroup(right).applyInArrow(produce, ddl)


def _any_everywhere(subscriptions: DataFrame, level: int) -> bool:
    """Whether an area reaches over too many cells; small circles are not covered to learn that."""
    radius = F.col("area_radius_m")
    others = subscriptions.where(radius.isNull() | (radius > small_radius_m(level)))
    return _exploded(others, level).where(F.col("place") == _EVERYWHERE).limit(1).count() > 0


def small_radius_m(level: int) -> float:
    """Circles up to this radius lie within four cells of the level: S2 covers them by no more."""
    return 0.45 * _LEAST_WIDTH * 2.0**-level * EARTH_RADIUS_M


def _placed(messages: DataFrame, level: int, *, everywhere: bool) -> DataFrame:
    """Messages with their join key; once more under `everywhere`, in parts, if anyone asks."""
    local = messages.where("cell is not null").withColumns(
        {"place": F.expr(parent_sql("cell", level)), "part": F.lit(0)}
    )
    if not everywhere:
        return local
    part = F.pmod(F.col("id"), F.lit(_PARTS)).cast("int")
    return local.unionByName(
        messages.withColumns({"place": F.lit(_EVERYWHERE).cast("bigint"), "part": part})
    )


def _exploded(subscriptions: DataFrame, level: int) -> DataFrame:
    """Subscriptions with their cover, once for every coarse cell that the cover touches."""

    def explode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [
                {**row, "ranges": ranges, "place": place, "part": part}
                for row in batch.to_pylist()
                for ranges, place, part in _places(Wanted.from_row(row), level)
            ]
            schema = pa.schema([*batch.schema, *_MORE_FIELDS])
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    return subscriptions.mapInArrow(explode, _EXPLODED)


_MORE_FIELDS = (
    pa.field("ranges", pa.list_(pa.struct([("low", pa.int64()), ("high", pa.int64())]))),
    pa.field("place", pa.int64()),
    pa.field("part", pa.int32()),
)


def _places(one: Wanted, level: int) -> Iterator[tuple[list[dict[str, int]], int, int]]:
    ranges = cover_ranges(one.area)
    cells = _coarse_cells(ranges, level)
    noted = [{"low": low, "high": high} for low, high in ranges]
    if cells is None:
        yield from ((noted, _EVERYWHERE, part) for part in range(_PARTS))
    else:
        yield from ((noted, cell, 0) for cell in cells)


def _coarse_cells(ranges: list[tuple[int, int]], level: int) -> list[int] | None:
    """The cells of a level that some ranges of leaves touch; None where they are too many."""
    found: set[int] = set()
    for low, high in ranges:
        step = 1 << (2 * (30 - level) + 1)
        if (high - low) // step > _MOST_CELLS:
            return None
        first = Cell(unsigned(low)).parent(level).id
        last = Cell(unsigned(high)).parent(level).id
        found.update(signed(cell) for cell in range(first, last + 1, step))
    return sorted(found) if 0 < len(found) <= _MOST_CELLS else None


def _topic_mask(topic: str, wanted: list[Wanted]) -> NDArray[np.bool_]:
    sent = zenoh.KeyExpr(topic)
    known = {one.topic: zenoh.KeyExpr(one.topic).intersects(sent) for one in wanted}
    return np.array([known[one.topic] for one in wanted], bool)


def _checked(frame: DataFrame, ddl: str) -> DataFrame:
    """The columns that a table must have, in order and with their types."""
    wanted = dict(part.split(" ", 1) for part in ddl.split(", "))
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise DeclarationError(f"the table has no column {missing[0]}; it needs {ddl}")
    return frame.select(*[F.col(name).cast(kind).alias(name) for name, kind in wanted.items()])


def _subscription(row: dict[str, str], where: str) -> tuple[Any, ...]:
    try:
        area = area_from_wkt(row["area"]) if row.get("area") else None
        place = (float(row[name]) if row.get(name) else None for name in ("latitude", "longitude"))
        return (row["subscriber"], row["topic"], *area_to_columns(area), *place, None, None)
    except ValueError as error:
        raise DeclarationError(f"{where}: {error}") from error

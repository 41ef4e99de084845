"""Bronze to silver: messages decoded, placed in zones, without doubles; bad rows with a reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

from zonal.errors import DeclarationError
from zonal.pipeline.cells import parent_sql
from zonal.pipeline.declaration import WIDENINGS, Declaration
from zonal.pipeline.decode import decode
from zonal.pipeline.zones import join_zones

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from zonal.pipeline.zones import Zones

# The lake's partitions: a day, and a cell of about 100 km.
REGION_LEVEL = 6
PARTITIONS = ("date", "region")
_MESSAGE_COLUMNS = (
    "offset",
    "topic",
    "time",
    "latitude",
    "longitude",
    "cell",
    "geofence",
    "geofence_radius_m",
    "payload",
    "encoding",
    "kind",
    "timestamp",
    "ntp64",
    "clock",
    "source",
    "sequence",
    "received",
    "device",
    "zone",
    "reason",
)


@dataclass(frozen=True)
class SilverPlan:
    """How messages become silver."""

    declaration: Declaration = field(default_factory=Declaration)
    zones: Zones | None = None
    max_skew_s: float = 60.0
    watermark_s: float = 3600.0
    """How far back (in event time, behind the newest) a double is looked for."""


def refine(messages: DataFrame, plan: SilverPlan) -> DataFrame:
    """Rows of the log into rows of silver and quarantine: those with a `reason` are the latter.

    Works on a stream and on a batch alike; keeps every row.
    """
    decoded = decode(messages, plan.declaration, max_skew_s=plan.max_skew_s)
    placed = join_zones(decoded, plan.zones)
    return placed.select(*_MESSAGE_COLUMNS, *plan.declaration.fields)


def identity() -> tuple[Column, Column]:
    """Two columns that are equal for, and only for, one message recorded twice.

    Source and sequence number, else topic and Zenoh's time stamp; a message with neither is like
    no other, so its offset stands in. The first column's hash has 64 bits and distinguishes
    sources, not messages.
    """
    sequenced = F.col("source").isNotNull() & F.col("sequence").isNotNull()
    stamped = F.col("ntp64").isNotNull()
    who = (
        F.when(sequenced, F.xxhash64(F.lit("s"), "source"))
        .when(stamped, F.xxhash64(F.lit("t"), "clock", "topic"))
        .otherwise(F.lit(0).cast("bigint"))
    )
    which = F.when(sequenced, F.col("sequence")).otherwise(F.coalesce("ntp64", "offset"))
    return who.alias("who"), which.alias("which")


def deduplicate(messages: DataFrame, *, watermark_s: float = 3600.0) -> DataFrame:
    """Keep one of each message; on a stream, within the watermark of event time (`time`)."""
    who, which = identity()
    keyed = messages.withColumns({"_who": who, "_which": which})
    if messages.isStreaming:
        marked = keyed.withWatermark("time", f"{watermark_s:g} seconds")
        return marked.dropDuplicatesWithinWatermark(["_who", "_which"]).drop("_who", "_which")
    return keyed.dropDuplicates(["_who", "_which"]).drop("_who", "_which")


def doubled(messages: DataFrame, earlier: DataFrame | None) -> DataFrame:
    """The offsets of messages that are there twice, or that `earlier` (silver) has already.

    Reads a few narrow columns, so that the common case (no doubles at all) costs little.
    """
    who, which = identity()
    mine = messages.select(who, which, F.col("offset"))
    again = mine.groupBy("who", "which").agg(
        F.count("*").alias("n"), F.min("offset").alias("first")
    )
    doubles = (
        mine.join(again.where("n > 1"), ["who", "which"])
        .where(F.col("offset") > F.col("first"))
        .select("offset")
    )
    if earlier is not None:
        known = earlier.select(who, which)
        doubles = doubles.union(mine.join(known, ["who", "which"], "left_semi").select("offset"))
    return doubles.distinct()


def lake_partitions() -> Mapping[str, Column]:
    """The columns that name a silver file's folder: where and when, coarsely."""
    # The token of the cell: hexadecimal without zeros at the end. A cell of level 6 has 16 bits;
    # `translate` instead of `lower`, which asks for the rules of all languages, row by row.
    head = f"shiftrightunsigned({parent_sql('cell', REGION_LEVEL)}, 48)"
    region = F.expr(f"rtrim('0', translate(lpad(hex({head}), 4, '0'), 'ABCDEF', 'abcdef'))")
    return {
        "date": F.date_format("time", "yyyy-MM-dd"),
        "region": F.coalesce(region, F.lit("none")),
    }


def merged_schema(known: StructType | None, new: StructType) -> StructType:
    """The table's columns after new ones came in; a type may widen, never change otherwise."""
    from pyspark.sql.types import StructField, StructType

    if known is None:
        return new
    types = {column.name: column.dataType for column in known.fields}
    for column in new.fields:
        old = types.get(column.name)
        if old is None or old == column.dataType:
            types[column.name] = column.dataType
            continue
        change = (old.simpleString(), column.dataType.simpleString())
        if change[::-1] in WIDENINGS:
            continue  # the table is wider already
        if change not in WIDENINGS:
            raise DeclarationError(
                f"field {column.name} is {change[0]} in the lake and declared as {change[1]}: "
                "give the new field another name"
            )
        types[column.name] = column.dataType
    return StructType([StructField(name, kind) for name, kind in types.items()])

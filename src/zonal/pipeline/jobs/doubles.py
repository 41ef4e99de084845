"""Messages that were recorded twice: which they are, and rows without them.

A recorder keeps doubles out of what it records. Two recorders may hear the same message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def identity() -> tuple[Column, Column]:
    """Two columns that are equal for, and only for, one message recorded twice.

    Source and sequence number, else topic and Zenoh's time stamp; a message with neither is like
    no other, so its recorder and offset stand in. The first column's hash has 64 bits and
    distinguishes sources, not messages.
    """
    sequenced = F.col("source").isNotNull() & F.col("sequence").isNotNull()
    stamped = F.col("ntp64").isNotNull()
    who = (
        F.when(sequenced, F.xxhash64(F.lit("s"), "source"))
        .when(stamped, F.xxhash64(F.lit("t"), "clock", "topic"))
        .otherwise(F.xxhash64(F.lit("o"), "recorder"))
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


def without_doubles(messages: DataFrame, earlier: DataFrame | None) -> DataFrame:
    """One of each message, and none that `earlier` (rows of the lake) has already."""
    who, which = identity()
    keyed = messages.withColumns({"_who": who, "_which": which})
    single = keyed.dropDuplicates(["_who", "_which"])
    if earlier is not None:
        known = earlier.select(who.alias("_who"), which.alias("_which"))
        single = single.join(known, ["_who", "_which"], "left_anti")
    return single.drop("_who", "_which")

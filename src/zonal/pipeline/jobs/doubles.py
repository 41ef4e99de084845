"""Messages that were recorded twice: whether there can be any, which they are, and without them.

A segment's footer holds which sequence numbers of which source it has, and a commit of the lake
keeps those of its rows. Where they are all different, no row needs to be looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

from zonal.pipeline.recorded_numbers import MAX_RANGES, RecordedNumbers
from zonal.pipeline.segment import numbers_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column, DataFrame

    from zonal.pipeline.lake import Lake
    from zonal.pipeline.recorded_numbers import Ranges
    from zonal.pipeline.segment import Segment

# A commit is read whole: with more ranges than this it keeps none, and rows are compared.
_MOST_RANGES = 50_000


@dataclass(frozen=True)
class BatchNumbers:
    """The sequence numbers per source in the segments of one batch."""

    numbers: RecordedNumbers
    are_unique: bool
    """Whether every message has a number, and no two have the same."""

    @classmethod
    def of_segments(cls, segments: Iterable[Segment]) -> BatchNumbers:
        """From the footers of segments."""
        numbers, rows, is_exact = RecordedNumbers(), 0, True
        for segment in segments:
            ranges = numbers_in(segment)
            # Beyond so many ranges a segment's note may hold more than its rows do.
            is_exact &= all(len(pairs) < MAX_RANGES for pairs in ranges.values())
            numbers.merge(ranges)
            rows += segment.rows
        return cls(numbers, is_exact and numbers.count() == rows)

    def to_note(self) -> Mapping[str, Ranges] | None:
        """What a commit keeps of it; None where that would be too much."""
        ranges = self.numbers.to_dict()
        fits = sum(len(pairs) for pairs in ranges.values()) <= _MOST_RANGES
        return ranges if fits else None


class LakeNumbers:
    """The sequence numbers of everything in a lake, as its commits noted them."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._version = -1
        self._numbers = RecordedNumbers()
        self._is_known = True

    def may_have(self, batch: BatchNumbers) -> bool:
        """Whether the lake may hold a message of the batch already."""
        newest = self._lake.snapshot().version
        for note in self._lake.sources_since(self._version):
            if note is None:
                self._is_known = False
            else:
                self._numbers.merge(note)
        self._version = newest
        return not self._is_known or self._numbers.meets(batch.numbers)


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

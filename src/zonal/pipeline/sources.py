"""Whether a double is possible at all: sequence numbers in the footers of segments say so.

A segment's footer holds which numbers of which source it has, and a commit of the lake keeps those
of its rows. Where they are all different, no row needs to be looked at.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from zonal.pipeline.seen import MAX_RANGES, Seen
from zonal.pipeline.segment import SOURCES_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from zonal.pipeline.lake import Lake
    from zonal.pipeline.seen import Ranges

# A commit is read whole: with more ranges than this it keeps none, and rows are compared.
_MOST_RANGES = 50_000


@dataclass(frozen=True)
class BatchSources:
    """The sequence numbers per source in the segments of one batch."""

    seen: Seen
    are_unique: bool
    """Whether every message has a number, and no two have the same."""

    @classmethod
    def of_segments(cls, paths: Iterable[str]) -> BatchSources:
        """From the footers of segments."""
        seen, rows, is_exact = Seen(), 0, True
        for path in paths:
            metadata = pq.read_metadata(path)
            ranges: dict[str, Ranges] = json.loads((metadata.metadata or {}).get(SOURCES_KEY, "{}"))
            # Beyond so many ranges a segment's note may hold more than its rows do.
            is_exact &= all(len(pairs) < MAX_RANGES for pairs in ranges.values())
            seen.merge(ranges)
            rows += metadata.num_rows
        return cls(seen, is_exact and seen.count() == rows)

    def to_note(self) -> Mapping[str, Ranges] | None:
        """What a commit keeps of it; None where that would be too much."""
        ranges = self.seen.to_dict()
        fits = sum(len(pairs) for pairs in ranges.values()) <= _MOST_RANGES
        return ranges if fits else None


class LakeSources:
    """The sequence numbers of everything in a lake, as its commits noted them."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._version = -1
        self._seen = Seen()
        self._is_known = True

    def may_have(self, batch: BatchSources) -> bool:
        """Whether the lake may hold a message of the batch already."""
        newest = self._lake.snapshot().version
        for note in self._lake.sources_since(self._version):
            if note is None:
                self._is_known = False
            else:
                self._seen.merge(note)
        self._version = newest
        return not self._is_known or self._seen.meets(batch.seen)

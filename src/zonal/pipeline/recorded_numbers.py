"""Which sequence numbers of which source were recorded: what keeps doubles out of the log."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

Ranges = list[list[int]]
"""Sorted, disjoint, never touching ranges, both ends included: `[[0, 41], [43, 43]]`."""

MAX_RANGES = 10_000
MAX_SOURCES = 100_000
"""How many sources a recorder knows at least; one costs some 400 bytes."""
LAST_NUMBER = 2**32 - 1
"""What is beyond is a time stamp (see `zonal.session.Source`)."""


class RecordedNumbers:
    """Sequence numbers per source, kept as ranges: a source without gaps costs two numbers.

    A source of which only a part is recorded leaves many gaps. Of each source the newest
    MAX_RANGES are kept apart; numbers in older gaps count as known. With `most`, some `most` to
    twice as many sources are known, those that were heard last: anybody can claim new ones.
    """

    def __init__(
        self, ranges: Mapping[str, Ranges] | None = None, *, most: int | None = None
    ) -> None:
        self._ranges: dict[str, Ranges] = {}
        self._older: dict[str, Ranges] = {}
        self._most = math.inf if most is None else most
        if ranges:
            self.merge(ranges)

    def add(self, source: str, sequence: int) -> bool:
        """Remember one number; False where it was known already.

        A time stamp in place of a number is not remembered: whoever stamps keeps no memory of its
        messages, so none of them comes again.
        """
        if sequence > LAST_NUMBER:
            return True
        ranges = self._ranges.get(source) or self._found(source)
        if not ranges:
            ranges.append([sequence, sequence])
            return True
        last = ranges[-1]
        if sequence == last[1] + 1:  # the common case: the next one of its source
            last[1] = sequence
            return True
        is_new = _insert(ranges, sequence, sequence)
        if len(ranges) > MAX_RANGES:
            ranges[:2] = [[ranges[0][0], ranges[1][1]]]
        return is_new

    def add_next(self, source: str, first: int, last: int) -> bool:
        """Remember the numbers that follow the last one of a source; False where these do not."""
        ranges = self._ranges.get(source)
        if not ranges or ranges[-1][1] + 1 != first or last > LAST_NUMBER:
            return False
        ranges[-1][1] = last
        return True

    def merge(self, ranges: Mapping[str, Iterable[Iterable[int]]]) -> None:
        """Remember everything that another memory knew."""
        for source, pairs in ranges.items():
            mine = self._found(source)
            for low, high in pairs:
                _insert(mine, low, high)

    def merge_columns(self, sources: pa.Array, sequences: pa.Array) -> None:
        """Remember the numbers of many rows; those without a source or a number have none."""
        usable = pc.and_(sources.is_valid(), pc.less_equal(sequences, LAST_NUMBER))
        names = sources.filter(usable).dictionary_encode()
        codes = names.indices.to_numpy()
        numbers = sequences.filter(usable).to_numpy()
        order = np.lexsort((numbers, codes))
        codes, numbers = codes[order], numbers[order]
        # A run ends where the source changes or a number is left out.
        steps = np.flatnonzero((np.diff(codes) != 0) | (np.diff(numbers) > 1)) + 1
        if len(codes):
            starts, ends = [0, *steps], [*(steps - 1), len(codes) - 1]
            known = names.dictionary.to_pylist()
            for first, last in zip(starts, ends, strict=True):
                mine = self._found(known[codes[first]])
                _insert(mine, int(numbers[first]), int(numbers[last]))

    def meets(self, other: RecordedNumbers) -> bool:
        """Whether a number is known to both."""
        return any(
            low <= mine_high and mine_low <= high
            for source, pairs in other.to_dict().items()
            for low, high in pairs
            for mine_low, mine_high in self._near(source, low, high)
        )

    def _near(self, source: str, low: int, high: int) -> Ranges:
        """The ranges that begin before `high` and may reach to `low`."""
        ranges = self._ranges.get(source) or self._older.get(source, [])
        start = bisect_right(ranges, low, key=lambda pair: pair[0]) - 1
        stop = bisect_right(ranges, high, key=lambda pair: pair[0])
        return ranges[max(start, 0) : stop]

    def to_dict(self) -> dict[str, Ranges]:
        """The ranges per source, ready for JSON."""
        every = self._older | self._ranges
        return {source: [list(pair) for pair in pairs] for source, pairs in every.items()}

    def _found(self, source: str) -> Ranges:
        """The ranges of a source, which counts as heard now; empty ones of a new source."""
        ranges = self._ranges.get(source)
        if ranges is None:
            if len(self._ranges) >= self._most:
                self._older, self._ranges = self._ranges, {}
            ranges = self._ranges[source] = self._older.pop(source, [])
        return ranges


def _insert(ranges: Ranges, low: int, high: int) -> bool:
    """Put a range in, joining what it touches; False where it was covered already."""
    at = bisect_right(ranges, low, key=lambda pair: pair[0]) - 1
    if at >= 0 and high <= ranges[at][1]:
        return False
    start = at if at >= 0 and ranges[at][1] >= low - 1 else at + 1
    stop = start
    while stop < len(ranges) and ranges[stop][0] <= high + 1:
        low, high = min(low, ranges[stop][0]), max(high, ranges[stop][1])
        stop += 1
    ranges[start:stop] = [[low, high]]
    return True

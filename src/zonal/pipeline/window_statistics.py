"""Count, mean, 95th percentile and maximum of what was measured in one window, for each place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zonal.pipeline.schema import UTC_MICROS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

WINDOW_SCHEMA = pa.schema(
    [
        ("time", UTC_MICROS),
        ("until", UTC_MICROS),
        ("topic", pa.string()),
        ("zone", pa.string()),
        ("cell", pa.int64()),
        ("measure", pa.string()),
        ("count", pa.int64()),
        ("mean", pa.float64()),
        ("p95", pa.float64()),
        ("max", pa.float64()),
    ]
)
_KINDS = ("zone", "cell")
_PART = 0.95
# From so many rows on, values are thinned: a group then keeps at most so many points. Thinning
# moves ranks by less than one part in _MOST_POINTS each time.
_MOST_ROWS = 2_000_000
_MOST_POINTS = 20_000
_SECOND_US = 1_000_000


class Summary(NamedTuple):
    """Figures of many groups, a column each; where `number` is 0, the others are undefined."""

    keys: NDArray[np.int64]
    number: NDArray[np.int64]
    mean: NDArray[np.float64]
    p95: NDArray[np.float64]
    max: NDArray[np.float64]


class _Points(NamedTuple):
    """Values of groups; each stands for `weight` values whose sum is `total`."""

    keys: NDArray[np.int64]
    values: NDArray[np.float64]
    weight: NDArray[np.int64]
    total: NDArray[np.float64]


class Spread:
    """Values of many groups. Up to `most_rows` everything about them is exact.

    With more, percentiles of groups with more than `most_points` values have a rank that is off by
    up to one part in `most_points` for every `most_rows` values; the rest stays exact. Memory is
    32 bytes for each value, of at most some `most_rows` or what the groups keep.
    """

    def __init__(self, *, most_rows: int = _MOST_ROWS, most_points: int = _MOST_POINTS) -> None:
        self._most_rows, self._most_points = most_rows, most_points
        self._parts: list[_Points] = []
        self._thinned = self._new = 0

    def add(
        self, keys: NDArray[np.int64], values: NDArray[np.float64], valid: NDArray[np.bool_]
    ) -> None:
        """Values of the groups that `keys` name; one that is not valid counts for none."""
        # What counts for none comes first in its group, and is no maximum.
        known = np.where(valid, values, -np.inf)
        total = np.where(valid, values, 0.0)
        self._parts.append(_Points(keys, known, valid.astype(np.int64), total))
        self._new += len(keys)
        if self._new >= max(self._most_rows, self._thinned):
            points = self._thin(self._sorted())
            self._parts, self._new, self._thinned = [points], 0, len(points.keys)

    def summary(self) -> Summary:
        """The figures of each group, in order of their keys."""
        keys, values, weight, total = self._sorted()
        first = _firsts(keys)
        if not len(first):
            return Summary(keys, weight, total, values, values)
        last = np.append(first[1:], len(keys)) - 1
        below = np.cumsum(weight)
        before = below[first] - weight[first]
        count = below[last] - before
        rank = before + np.maximum(np.ceil(_PART * count).astype(np.int64), 1)
        at = np.minimum(np.searchsorted(below, rank), last)
        mean = np.add.reduceat(total, first) / np.maximum(count, 1)
        return Summary(keys[first], count, mean, values[at], values[last])

    def _sorted(self) -> _Points:
        if not self._parts:
            nothing = np.zeros(0)
            return _Points(nothing.astype(np.int64), nothing, nothing.astype(np.int64), nothing)
        joined = [np.concatenate(columns) for columns in zip(*self._parts, strict=True)]
        order = np.lexsort((joined[1], joined[0]))
        return _Points(*(column[order] for column in joined))

    def _thin(self, points: _Points) -> _Points:
        """Of each large group one point in turn for as many values: the largest of them."""
        first = _firsts(points.keys)
        sizes = np.diff(np.append(first, len(points.keys)))
        group = np.repeat(np.arange(len(first)), sizes)
        below = np.cumsum(points.weight)
        rank = below - (below[first] - points.weight[first])[group]
        whole = np.add.reduceat(points.weight, first)[group]
        place = (rank - 1) * self._most_points // np.maximum(whole, 1)
        ends = np.append((np.diff(place) != 0) | (np.diff(group) != 0), True)
        ends |= (sizes <= self._most_points)[group]
        kept = np.flatnonzero(ends)
        begins = np.append(0, kept[:-1] + 1)
        return _Points(
            points.keys[kept],
            points.values[kept],
            np.add.reduceat(points.weight, begins),
            np.add.reduceat(points.total, begins),
        )


def statistics_of_window(
    start_s: int, window_s: int, batches: Iterable[pa.RecordBatch], measures: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Rows of WINDOW_SCHEMA: for each topic, each place (zone or cell) and each measure, one.

    Batches have the columns `topic`, `zone`, `cell` and `measure_0`, …, in the order of `measures`.
    A row without a place is in none.
    """
    topics, places = _Codes(pa.string()), (_Codes(pa.string()), _Codes(pa.int64()))
    spreads = [[Spread() for _ in measures] for _ in _KINDS]
    for batch in batches:
        topic = topics.of(batch.column("topic"))
        columns = [_floats(batch.column(f"measure_{index}")) for index in range(len(measures))]
        for kind, known, spread in zip(_KINDS, places, spreads, strict=True):
            column = batch.column(kind)
            there = column.is_valid().to_numpy(zero_copy_only=False)
            keys = (topic << 32 | known.of(column))[there]
            for one, (values, valid) in zip(spread, columns, strict=True):
                one.add(keys, values[there], valid[there])
    for kind, known, spread in zip(_KINDS, places, spreads, strict=True):
        for measure, one in zip(measures, spread, strict=True):
            found = one.summary()
            named = {
                "topic": topics.names().take(pa.array(found.keys >> 32)),
                kind: known.names().take(pa.array(found.keys & 0xFFFFFFFF)),
            }
            yield _rows((start_s, start_s + window_s), named, measure, found)


def _rows(
    span_s: tuple[int, int], named: dict[str, pa.Array], measure: str, found: Summary
) -> pa.RecordBatch:
    size = len(found.keys)
    time, until = (pa.array(np.full(size, end * _SECOND_US)).cast(UTC_MICROS) for end in span_s)
    none = found.number == 0
    columns = {
        "time": time,
        "until": until,
        "measure": pa.array([measure] * size, pa.string()),
        "count": pa.array(found.number),
        "mean": pa.array(found.mean, mask=none),
        "p95": pa.array(found.p95, mask=none),
        "max": pa.array(found.max, mask=none),
        **named,
    }
    ordered = [
        columns.get(field.name, pa.nulls(size, field.type)).cast(field.type)
        for field in WINDOW_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(ordered, schema=WINDOW_SCHEMA)


class _Codes:
    """Numbers for the values of a column, the same in every batch; a null has any."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._known: dict[str | int, int] = {}

    def of(self, column: pa.Array) -> NDArray[np.int64]:
        coded = column.dictionary_encode()
        known = self._known
        numbers = [known.setdefault(name, len(known)) for name in coded.dictionary.to_pylist()]
        places = pc.fill_null(coded.indices, 0).to_numpy()
        found: NDArray[np.int64] = np.array([*numbers, 0], np.int64)[places]
        return found

    def names(self) -> pa.Array:
        return pa.array(list(self._known), self._kind)


def _floats(column: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The values of a column, and which of them there are."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False), valid


def _firsts(keys: NDArray[np.int64]) -> NDArray[np.intp]:
    """Where groups begin in sorted keys."""
    return np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.zeros(0, int)

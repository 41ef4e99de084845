"""Plain JSON payloads into columns, many at a time; what is not plain is left to Spark's parser.

Plain is an object without objects in it whose declared fields have the declared types. What this
module reads it reads as Spark's `from_json` does; whatever the two could read differently
(`'single quotes'`, `Inf`, a field given twice, text that is no UTF-8, …) counts as not plain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zonal.pipeline.payloads import TopicSchema

_TYPES = {
    "string": pa.string(),
    "double": pa.float64(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
}
LONGEST = 1000
"""So many bytes a plain payload has at most: Spark refuses numbers of more digits."""
# A piece that has a payload that is not plain is cut into so many, and those once more.
_PIECES = 16
_CUTS = 2
_OPEN, _CLOSE = b"{}"
# Numbers that are none; the two parsers know them by different names.
_NO_NUMBERS = (b"NaN", b"Inf", b"INF")


class Plain(NamedTuple):
    """What was read: a column for each field, and which rows were plain (in others, null)."""

    columns: list[pa.Array]
    plain: NDArray[np.bool_]


def schema_of(topic: TopicSchema) -> pa.Schema | None:
    """The fields of a topic as Arrow has them; None where one has a type that is not read here."""
    if not all(field.type in _TYPES for field in topic.fields):
        return None
    return pa.schema([(field.name, _TYPES[field.type]) for field in topic.fields])


def read_plain(payloads: pa.Array, schema: pa.Schema) -> Plain:
    """Read what is plain among payloads (binary; null is not plain)."""
    plain = _candidates(payloads)
    rows = np.flatnonzero(plain)
    chosen = payloads if len(rows) == len(payloads) else payloads.take(pa.array(rows))
    tables: list[pa.Table] = []
    for first, size, table in _read(chosen, 0, schema, _CUTS):
        if table is None:
            plain[rows[first : first + size]] = False
        else:
            tables.append(table)
    found = pa.concat_tables(tables) if tables else schema.empty_table()
    columns = [column.combine_chunks() for column in found.columns]
    if found.num_rows < len(payloads):
        places = np.cumsum(plain) - 1
        at = pa.array(places, mask=~plain)
        columns = [column.take(at) for column in columns]
    return Plain(columns, plain)


def _candidates(payloads: pa.Array) -> NDArray[np.bool_]:
    """Which payloads are one pair of braces around something without any."""
    count = len(payloads)
    if not _is_utf8(payloads):
        return np.zeros(count, np.bool_)
    ends, data = _bytes_of(payloads)
    braces = np.flatnonzero((data == _OPEN) | (data == _CLOSE))
    if len(braces) == 2 * count and _stand_at_ends(braces, ends):
        plain = np.ones(count, np.bool_)
    else:
        sizes = np.diff(ends)
        inside = np.diff(np.searchsorted(braces, ends))
        plain = (inside == 2) & (sizes >= 2)
        plain[plain] = (data[ends[:-1][plain]] == _OPEN) & (data[ends[1:][plain] - 1] == _CLOSE)
    plain &= np.diff(ends) <= LONGEST
    text = data.tobytes()
    for word in _NO_NUMBERS:
        if word in text:
            has = pc.fill_null(pc.match_substring(payloads, word.decode()), False)
            plain &= ~has.to_numpy(zero_copy_only=False)
    return plain


def _stand_at_ends(braces: NDArray[np.intp], ends: NDArray[np.int64]) -> bool:
    return bool((braces[::2] == ends[:-1]).all() and (braces[1::2] == ends[1:] - 1).all())


def _is_utf8(payloads: pa.Array) -> bool:
    try:
        payloads.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _bytes_of(payloads: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Where each payload ends in their bytes taken together (with 0 before), and these bytes."""
    _, offsets, data = payloads.buffers()
    ends = np.frombuffer(offsets, np.int32, len(payloads) + 1, 4 * payloads.offset)
    ends = ends.astype(np.int64)
    if data is None:
        return ends - ends[0], np.zeros(0, np.uint8)
    size = int(ends[-1] - ends[0])
    return ends - ends[0], np.frombuffer(data, np.uint8, size, int(ends[0]))


def _read(
    payloads: pa.Array, first: int, schema: pa.Schema, cuts: int
) -> list[tuple[int, int, pa.Table | None]]:
    """Pieces of the payloads in order, each with what is in it: None if it has what is not plain.

    Every payload opens one brace, so there are as many objects as payloads only if each is one.
    """
    count = len(payloads)
    if not count:
        return []
    _, data = _bytes_of(payloads)
    try:
        table = json.read_json(
            pa.BufferReader(pa.py_buffer(data)),
            read_options=json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=json.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
        )
    except pa.ArrowInvalid:
        table = None
    if table is not None and table.num_rows == count:
        return [(first, count, table)]
    if not cuts or count == 1:
        return [(first, count, None)]
    size = -(-count // _PIECES)
    return [
        piece
        for begin in range(0, count, size)
        for piece in _read(payloads.slice(begin, size), first + begin, schema, cuts - 1)
    ]

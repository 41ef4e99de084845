"""The options of `format("zonal")`, read once and checked with errors that say what is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal.errors import DeclarationError, GeometryError
from zonal.geo import area_from_wkt
from zonal.pipeline.schema import LOG_COLUMNS
from zonal.pipeline.selection import Selection
from zonal.pipeline.times import moment_of

if TYPE_CHECKING:
    from collections.abc import Mapping

READ_OPTIONS = {
    "path": "the folder of the log",
    "topic": "a key expression, such as city/**",
    "area": "well-known text",
    "since": "ISO 8601 time: no message before it",
    "until": "ISO 8601 time: no message after it",
    "columns": "names of columns, separated by commas: only these are read",
    "startingoffset": "earliest, latest or a number; for a new stream",
    "maxrowspertrigger": "the most rows of one micro-batch",
    "rowsperpartition": "about how many rows one task reads",
    "oncorrupt": "fail or skip: what an unreadable segment does",
    "failondataloss": "true or false: what offsets do that retention removed",
    "rows": "messages or segments: what one row is",
}


@dataclass(frozen=True)
class ReadOptions:
    """How a log is to be read."""

    path: str
    selection: Selection
    columns: tuple[str, ...]
    starting_offset: str
    max_rows: int | None
    rows_per_partition: int
    skip_corrupt: bool
    fail_on_data_loss: bool
    segments_only: bool

    @classmethod
    def from_mapping(cls, given: Mapping[str, str]) -> ReadOptions:
        """Read Spark's options; names are case-insensitive."""
        options = {name.lower(): value for name, value in given.items()}
        unknown = sorted(set(options) - set(READ_OPTIONS))
        if unknown:
            raise DeclarationError(
                f"unknown option {unknown[0]!r} for format zonal; known: {', '.join(READ_OPTIONS)}"
            )
        if "path" not in options:
            raise DeclarationError("format zonal needs the option path: the folder of the log")
        return cls(
            path=options["path"],
            selection=_selection(options),
            columns=_columns(options.get("columns")),
            starting_offset=_starting_offset(options.get("startingoffset", "earliest")),
            max_rows=_positive(options, "maxrowspertrigger"),
            rows_per_partition=_positive(options, "rowsperpartition") or 262_144,
            skip_corrupt=_choice(options, "oncorrupt", "fail", "skip") == "skip",
            fail_on_data_loss=_choice(options, "failondataloss", "true", "false") == "true",
            segments_only=_choice(options, "rows", "messages", "segments") == "segments",
        )


def _selection(options: Mapping[str, str]) -> Selection:
    try:
        area = area_from_wkt(options["area"]) if "area" in options else None
    except GeometryError as error:
        raise DeclarationError(f"option area: {error}") from error
    return Selection(
        topic=options.get("topic"),
        area=area,
        since=moment_of(options["since"], "since") if "since" in options else None,
        until=moment_of(options["until"], "until") if "until" in options else None,
    )


def _columns(text: str | None) -> tuple[str, ...]:
    if text is None:
        return LOG_COLUMNS
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in LOG_COLUMNS:
            raise DeclarationError(f"the log has no column {name!r}; it has {LOG_COLUMNS}")
    return names


def _starting_offset(text: str) -> str:
    if text not in {"earliest", "latest"} and not text.isdecimal():
        raise DeclarationError(f"startingOffset {text!r} is not earliest, latest or a number")
    return text


def _positive(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise DeclarationError(f"option {name} is {text!r}, not a whole number above 0")
    return int(text)


def _choice(options: Mapping[str, str], name: str, default: str, other: str) -> str:
    chosen = options.get(name, default).lower()
    if chosen not in {default, other}:
        raise DeclarationError(f"option {name} is {chosen!r}, not {default} or {other}")
    return chosen

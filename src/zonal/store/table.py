"""What a store keeps its things in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from zonal.store.thing import StoredThing
    from zonal.store.thing_filter import ThingFilter

COLUMNS = (
    "key",
    "part",
    "latitude",
    "longitude",
    "cell",
    "ntp64",
    "clock",
    "deleted",
    "payload",
    "content_encoding",
    "location_encoding",
    "geofence",
    "attachment",
    "source",
    "sequence",
)
"""Those of `StoredThing`; key and part together name a thing."""

Name = tuple[str, str]
"""Key and part."""


class Table(Protocol):
    """Things by name and place; may be written by one thread and read by another."""

    def write(self, things: Sequence[StoredThing]) -> None:
        """Keep these where they are newer than what is kept; durable when it returns."""

    def find(self, wanted: ThingFilter) -> Iterator[StoredThing]:
        """The wanted things, in no order."""

    def named(self, names: Iterable[Name]) -> dict[Name, StoredThing]:
        """Those of these that are kept, deleted ones too."""

    def newest(self) -> int:
        """The latest time (NTP64) of any; 0 where there are none."""

    def forget(self, before: int, *, deleted: bool) -> int:
        """Let go of things with an earlier time: of all, or only `deleted` ones; how many."""

    def __len__(self) -> int:
        """How many things are kept, without those deleted."""

    def close(self) -> None:
        """Let go of the data."""


def upsert(placeholder: str) -> str:
    """The statement that keeps one thing if it is newer."""
    given = ", ".join(placeholder for _ in COLUMNS)
    changes = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS[2:])
    # Only names and placeholders of our own are put together.
    return (
        f"INSERT INTO things ({', '.join(COLUMNS)}) VALUES ({given}) "  # noqa: S608
        f"ON CONFLICT (key, part) DO UPDATE SET {changes} "
        "WHERE (excluded.ntp64, excluded.clock) > (things.ntp64, things.clock)"
    )


def questions(wanted: ThingFilter, placeholder: str) -> Iterator[tuple[str, tuple[object, ...]]]:
    """The statements that find what may be wanted, each with its values."""
    start = f"SELECT {', '.join(COLUMNS)} FROM things WHERE "  # noqa: S608
    rest = f" AND ntp64 > {placeholder}"
    if not wanted.deleted:
        rest += " AND NOT deleted"
    if wanted.is_one_key:
        yield f"{start}key = {placeholder}{rest}", (wanted.key, wanted.newer_than)
        return
    if not wanted.cell_ranges:
        between = f"{start}key BETWEEN {placeholder} AND {placeholder}{rest}"
        yield between, (*wanted.key_range, wanted.newer_than)
        return
    within = f"{start}cell BETWEEN {placeholder} AND {placeholder}{rest}"
    for low, high in wanted.cell_ranges:
        yield within, (low, high, wanted.newer_than)
    larger = wanted.larger_cells
    if larger:
        marks = ", ".join(placeholder for _ in larger)
        yield f"{start}cell IN ({marks}){rest}", (*larger, wanted.newer_than)

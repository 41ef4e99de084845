"""The lake: a folder (or a place in an object store) with a Delta table for each kind of row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.errors import LakeError
from zonal.pipeline.delta import find_table, newest_note, url_of
from zonal.pipeline.recorded_numbers import RecordedNumbers

if TYPE_CHECKING:
    from pathlib import Path

    from deltalake import DeltaTable

TABLES = ("silver", "quarantine", "windows", "tracks", "alerts")


class Lake:
    """Where the tables are. Any tool that knows Delta reads them; nothing else is in there."""

    def __init__(self, path: str | Path) -> None:
        self.url = url_of(path)

    def url_of(self, table: str) -> str:
        """Where a table is."""
        if table not in TABLES:
            raise LakeError(f"a lake has no table {table!r}; it has {', '.join(TABLES)}")
        return url_of(self.url, table)

    def find(self, table: str, version: int | None = None) -> DeltaTable | None:
        """A table as it is now, or was at a version; None where there is none yet."""
        return find_table(self.url_of(table), version)

    def existing(self, table: str, version: int | None = None) -> DeltaTable:
        """The same; a `LakeError` where there is none yet."""
        found = self.find(table, version)
        if found is None:
            raise LakeError(f"{self.url} has no table {table}: no job has written it yet")
        return found

    def offsets(self, silver: DeltaTable | None) -> RecordedNumbers:
        """The offsets of each recorder whose messages are in the lake, in silver or quarantine.

        Commits of silver say so; where none does any more (Delta forgets them after 30 days), the
        tables are read.
        """
        if silver is None:
            return RecordedNumbers()
        note = newest_note(silver)
        if "offsets" in note:
            return RecordedNumbers(note["offsets"])
        numbers = RecordedNumbers()
        for table in filter(None, (silver, self.find("quarantine"))):
            scanner = table.to_pyarrow_dataset().scanner(columns=["recorder", "offset"])
            for batch in scanner.to_batches():
                numbers.merge_columns(batch.column(0), batch.column(1))
        return numbers

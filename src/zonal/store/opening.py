"""Where a store keeps its things, by what a user wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from zonal.store.sqlite_table import SqliteTable

if TYPE_CHECKING:
    from zonal.store.table import Table

POSTGRES = ("postgresql://", "postgres://")


def open_table(data: str | Path) -> Table:
    """A folder, which is made where it is not there, or a database `postgresql://…`."""
    if str(data).startswith(POSTGRES):
        from zonal.store.postgres_table import PostgresTable

        return PostgresTable(str(data))
    return SqliteTable(Path(data))

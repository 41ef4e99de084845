"""SQL on a lake, by DuckDB: its tables by their names, and our areas as functions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from zonal.errors import LakeError
from zonal.geo import area_from_wkt
from zonal.pipeline.lake import TABLES, Lake
from zonal.pipeline.tracks import distances_m

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import duckdb

    from zonal.geo import Area


class LakeQuery:
    """Asks the tables of a lake; a context manager.

    - `in_area(latitude, longitude, area)`: whether a place lies in an area, exactly; the area is
      text that `parse` understands (well-known text, if nothing else is said).
    - `distance_m(latitude, longitude, latitude, longitude)`: metres on the sphere.
    """

    def __init__(
        self,
        lake: str | Path,
        *,
        version: int | None = None,
        parse: Callable[[str], Area] = area_from_wkt,
    ) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise LakeError("DuckDB is not installed: pip install 'zonal[sql]'") from error
        self._connection = duckdb.connect()
        found = {name: Lake(lake).find(name, version) for name in TABLES}
        self.tables = tuple(name for name, delta in found.items() if delta is not None)
        if not self.tables:
            raise LakeError(f"{lake} is no lake: it has none of {', '.join(TABLES)}")
        for name, delta in found.items():
            if delta is not None:
                self._connection.register(name, delta.to_pyarrow_dataset())
        self._add_functions(parse)

    def ask(self, sql: str) -> duckdb.DuckDBPyRelation:
        """The answer to a query, computed when it is looked at."""
        import duckdb

        try:
            return self._connection.sql(sql)
        except duckdb.Error as error:
            raise LakeError(f"{error} (tables here: {', '.join(self.tables)})") from error

    def rows(self, sql: str) -> Iterator[dict[str, Any]]:
        """The rows of an answer, one after the other."""
        for batch in self.ask(sql).to_arrow_reader():
            yield from batch.to_pylist()

    def close(self) -> None:
        """Let go of everything."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _add_functions(self, parse: Callable[[str], Area]) -> None:
        parsed = lru_cache(parse)

        def in_area(lats: pa.Array, lons: pa.Array, areas: pa.Array) -> pa.Array:
            places = _numbers(lats), _numbers(lons)
            texts = np.asarray(areas.to_pylist(), object)
            inside = np.zeros(len(texts), bool)
            for text in set(texts):
                of_it = texts == text
                inside[of_it] = parsed(text).contains_many(*(one[of_it] for one in places))
            return pa.array(inside)

        def distance_m(a: pa.Array, b: pa.Array, c: pa.Array, d: pa.Array) -> pa.Array:
            return pa.array(distances_m(*map(_numbers, (a, b, c, d))))

        add: Any = self._connection.create_function
        add("in_area", in_area, ["DOUBLE", "DOUBLE", "VARCHAR"], "BOOLEAN", type="arrow")
        add("distance_m", distance_m, ["DOUBLE"] * 4, "DOUBLE", type="arrow")


def _numbers(column: Any) -> Any:
    return (
        column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
    )

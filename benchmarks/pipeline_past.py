"""History: a district and an hour beside a full scan and DuckDB."""

from __future__ import annotations

import statistics
from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa

from pipeline_data import fleet
from pipeline_measuring import measured, say
from zonal.geo import Box
from zonal.pipeline import LOG_SCHEMA, History, Lake, Log, LogWriter, Selection

if TYPE_CHECKING:
    from pathlib import Path

    from deltalake import DeltaTable


def bench_history(folder: Path, scale: float, _: Path | None) -> dict[str, float]:
    """A district and one hour against a full scan, and against DuckDB, on one table."""
    table, history, name = _past(folder, scale)
    rows = table.to_pyarrow_dataset().count_rows()
    files = pa.table(table.get_add_actions(flatten=True))
    since = min(files["min.timestamp"].to_pylist()) + timedelta(hours=9)
    area = Box(45.455, 9.17, 45.475, 9.20)
    wanted = Selection("city/**", area, since, since + timedelta(hours=1))
    pruned, beside, full = [], [], []
    for _ in range(9):  # in turns, so that both meet the same machine
        with measured() as one:
            found = history.table(wanted)
        pruned.append(one)
        with measured() as one:
            same = _duckdb(table, name, wanted)
        beside.append(one)
    assert same == found.num_rows
    scan = history.last_scan
    for _ in range(2):
        kept = 0
        with measured() as one:
            for batch in table.to_pyarrow_dataset().to_batches(columns=LOG_SCHEMA.names):
                kept += wanted.filter(batch.cast(LOG_SCHEMA)).num_rows
        full.append(one)
    assert kept == found.num_rows
    query_s, duckdb_s = (statistics.median(o.wall_s for o in many) for many in (pruned, beside))
    scan_s = min(one.wall_s for one in full)
    cpu_share = statistics.median(one.cpu_s for one in pruned) / min(one.cpu_s for one in full)
    say(
        f"history: a district and one hour out of {rows:,} rows of {name}: {found.num_rows:,} "
        f"messages in {query_s * 1000:.0f} ms, {100 * query_s / scan_s:.2f} % of a full scan "
        f"({scan_s:.2f} s; target 2 %), {100 * cpu_share:.2f} % by processor time; "
        f"{query_s / duckdb_s:.2f} times DuckDB's time ({duckdb_s * 1000:.0f} ms; target 1.5); "
        f"{scan.files_opened} of {scan.files} files opened"
    )
    return {
        "rows": rows,
        "found": found.num_rows,
        "query_s": query_s,
        "duckdb_s": duckdb_s,
        "full_scan_s": scan_s,
        "share": query_s / scan_s,
        "share_by_cpu": cpu_share,
    }


def _past(folder: Path, scale: float) -> tuple[DeltaTable, History, str]:
    """The lake that the stream has left; without one, a day of a log, laid out as silver is."""
    silver = Lake(folder / "lake").find("silver")
    if silver is not None:
        return silver, History(lake=folder / "lake"), "silver"
    rows = int(10_000_000 * scale)
    with LogWriter(folder / "day") as writer:
        for first in range(0, rows, 500_000):
            count = min(500_000, rows - first)
            writer.append(fleet(count, first, rate=rows / 86_400).sort_by("cell"))
    return Log(folder / "day").table(), History(log=folder / "day"), "the log"


def _duckdb(table: DeltaTable, name: str, wanted: Selection) -> int:
    """The same rows by DuckDB: it prunes by the same statistics."""
    import duckdb

    assert isinstance(wanted.area, Box)
    assert wanted.since is not None
    assert wanted.until is not None
    box, time = wanted.area, "time" if name == "silver" else "timestamp"
    with duckdb.connect() as connection:
        connection.register("past", table.to_pyarrow_dataset())
        found = connection.sql(
            f"""select {", ".join(f'"{column}"' for column in LOG_SCHEMA.names)} from past
            where {time} between ? and ? and latitude between ? and ? and longitude between ? and ?
            order by timestamp, received""",
            params=[wanted.since, wanted.until, box.min_lat, box.max_lat, box.min_lon, box.max_lon],
        )
        return int(found.to_arrow_table().num_rows)

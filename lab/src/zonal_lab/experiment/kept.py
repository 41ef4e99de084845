"""What is committed of a run: one JSON file of figures and one Parquet file of each kind of sample.

```
<page>.data/manifest.json    what ran, on what
<page>.data/cases.json       every case with its figures
<page>.data/<kind>.parquet   the raw samples of all cases, with a column `case`; where cases have
                             other columns, <kind>.1.parquet and so on
```
It unpacks into a folder of results with which every page is made, so nothing else knows of it.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from zonal_lab.errors import PlanError
from zonal_lab.experiment.results import Results

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 8 << 20
"""No page may keep more; a longer run must keep fewer samples or be a release's attachment."""
SUFFIX = ".data"
_MANIFEST, _CASES, _CASE = "manifest.json", "cases.json", "case"


def pack(results: Results, folder: Path) -> None:
    """Keep results in a folder, in place of what it holds.

    A `PlanError` when they are larger than `MOST_BYTES`; what was kept before is then still there,
    as after any other failure.
    """
    new, old = (folder.with_name(f".{folder.name}.{each}") for each in ("new", "old"))
    for left_over in (new, old):
        shutil.rmtree(left_over, ignore_errors=True)
    try:
        _fill(results, new)
        _require_room(new, folder)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def _fill(results: Results, folder: Path) -> None:
    records = [vars(record) for record in results.records()]
    folder.mkdir(parents=True)
    lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    (folder / _CASES).write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    (folder / _MANIFEST).write_text(json.dumps(results.manifest()), encoding="utf-8")
    note(folder)
    for kind in _kinds(results):
        for number, table in enumerate(_joined(results.samples(kind))):
            _write(table, folder / f"{kind}{f'.{number}' * bool(number)}.parquet")


def _require_room(new: Path, folder: Path) -> None:
    size = sum(path.stat().st_size for path in new.iterdir())
    if size > MOST_BYTES:
        raise PlanError(
            f"{folder} would hold {_mib(size)}, {_mib(size - MOST_BYTES)} more than the "
            f"{_mib(MOST_BYTES)} that a page may keep; nothing was changed. Run fewer cases at "
            "once, and keep each run under a name of its own (`zonal lab keep --name`)"
        )


def _mib(size: int) -> str:
    return f"{size / 2**20:.2f} MiB"


def unpack(folder: Path, into: Path) -> Results:
    """The results that were kept, as a folder of results."""
    if not (folder / _CASES).exists():
        raise PlanError(f"{folder} keeps no results: {_CASES} is missing")
    (into / "cases").mkdir(parents=True, exist_ok=True)
    (into / _MANIFEST).write_bytes((folder / _MANIFEST).read_bytes())
    for record in json.loads((folder / _CASES).read_text(encoding="utf-8")):
        path = into / "cases" / f"{record['name']}.json"
        path.write_text(json.dumps(record), encoding="utf-8")
    for path in sorted(folder.glob("*.parquet")):
        _unpack_kind(pq.read_table(path), into / path.name.partition(".")[0])
    return Results(into)


def note(folder: Path, **details: object) -> None:
    """Add to the manifest of what was kept."""
    text = json.dumps(read_manifest(folder) | details, indent=2, ensure_ascii=False)
    (folder / _MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of what was kept."""
    entry: dict[str, Any] = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    return entry


def _kinds(results: Results) -> list[str]:
    return sorted(
        each.name
        for each in results.folder.iterdir()
        if each.is_dir() and any(each.glob("*.parquet"))
    )


def _joined(files: list[Path]) -> list[pa.Table]:
    """One table of all cases, or several where their columns are not the same."""
    alike: dict[str, list[pa.Table]] = {}
    for file in files:
        table = pq.read_table(file)
        table = table.append_column(_CASE, pa.repeat(file.stem, table.num_rows))
        alike.setdefault(str(table.schema), []).append(table)
    return [pa.concat_tables(tables) for tables in alike.values()]


def _write(table: pa.Table, path: Path) -> None:
    """Whole numbers as differences, everything else by dictionary; then compressed."""
    whole = [each.name for each in table.schema if pa.types.is_integer(each.type)]
    others = [each.name for each in table.schema if each.name not in whole]
    pq.write_table(
        table,
        path,
        compression="zstd",
        compression_level=19,
        use_dictionary=others,
        column_encoding=dict.fromkeys(whole, "DELTA_BINARY_PACKED"),
    )


def _unpack_kind(table: pa.Table, folder: Path) -> None:
    """A file for each case, whose rows follow one another."""
    folder.mkdir(exist_ok=True)
    runs = pc.run_end_encode(table[_CASE].combine_chunks())
    rows, start = table.drop_columns([_CASE]), 0
    for case, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        # Read once and deleted: nothing is gained by packing it again.
        pq.write_table(
            rows.slice(start, end - start),
            folder / f"{case}.parquet",
            compression="none",
            use_dictionary=False,
            write_statistics=False,
        )
        start = end

"""The page on the PSVR evaluation: claims, and a section for each part that was run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from zonal_lab.experiment import picture
from zonal_lab.psvr.parts import PARTS
from zonal_lab.psvr.trial import ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from zonal_lab.experiment import Claim, Results
    from zonal_lab.psvr.parts import Part, Row


def page(results: Results, folder: Path, name: str) -> Iterator[str]:
    """The page's lines; its pictures go into the folder."""
    found = {part: rows for part in PARTS.values() if (rows := read_rows(results, part))}
    for part, rows in found.items():
        file = f"{name}-{part.name}.png"
        yield f"## {part.title}"
        yield ""
        yield from part.section(rows, folder / file)
        if part.draws:
            yield from picture(part.title, file)


def claims(results: Results) -> Iterator[Claim]:
    """The claims of all parts, run or not."""
    for part in PARTS.values():
        yield from part.claims(read_rows(results, part))


def read_rows(results: Results, part: Part) -> list[Row]:
    """The rows of all finished cases of a part."""
    rows: list[Row] = []
    for record in results.records():
        if record.case["part"] == part.name:
            rows += pq.read_table(results.folder / ROWS / f"{record.name}.parquet").to_pylist()
    return rows

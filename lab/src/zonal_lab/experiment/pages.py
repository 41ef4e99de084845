"""Pieces of report pages that several evaluations share: verdicts, tables, how it was run."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from _typeshed import DataclassInstance

    from zonal_lab.location.claims import Verdict


def write_page(
    lines: Iterable[str], folder: Path, name: str, rows: Sequence[DataclassInstance] = ()
) -> Path:
    """Write a page, and beside it the rows that it shows as JSON; return the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    if rows:
        text = json.dumps([asdict(row) for row in rows], indent=1)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    page = folder / f"{name}.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return page


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A Markdown table."""
    yield f"| {' | '.join(header)} |"
    yield "|" + " --- |" * len(header)
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def verdicts(title: str, judged: Iterable[Verdict]) -> Iterator[str]:
    """Claims with a verdict and the numbers behind it."""
    yield f"## {title}"
    yield ""
    yield from table(
        ("claim", "where", "", "numbers here"),
        (
            (each.claim, each.source, "holds" if each.holds else "**does not hold**", each.because)
            for each in judged
        ),
    )


def how_it_was_run(manifest: dict[str, Any]) -> Iterator[str]:
    """The manifest, folded away."""
    yield "## How it was run"
    yield ""
    yield "```json"
    yield json.dumps(manifest, indent=2, ensure_ascii=False)
    yield "```"

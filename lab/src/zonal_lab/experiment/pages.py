"""Pieces of pages: verdicts, tables, pictures, what was run and how."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from _typeshed import DataclassInstance

    from zonal_lab.experiment.verdicts import Verdict


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, right: int | None = None
) -> Iterator[str]:
    """A Markdown table; the columns from the n-th on are aligned to the right."""
    yield f"| {' | '.join(header)} |"
    first = len(header) if right is None else right
    yield "|" + " --- |" * first + " ---: |" * (len(header) - first)
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def verdict_table(title: str, judged: Iterable[Verdict]) -> Iterator[str]:
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


def picture(title: str, file: str) -> Iterator[str]:
    """A picture that lies beside the page."""
    yield f"![{title}]({file})"
    yield ""


def write_rows(rows: Sequence[DataclassInstance], path: Path) -> None:
    """The rows that a page shows, as JSON beside it."""
    text = json.dumps([asdict(row) for row in rows], indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def what_was_run(manifest: dict[str, Any], loads: Sequence[float]) -> Iterator[str]:
    """When and of which code, how long, how busy the machine, on which data, what failed."""
    changed = {True: "", False: ", with changes", None: ""}[manifest["clean"]]
    line = f"Run on {manifest['started'][:10]} from commit {manifest['commit']}{changed}"
    for each in manifest.get("continued_by", ()):
        line += f", continued from {each}"
    if "minutes" in manifest:
        line += f", in {manifest['minutes']:g} minutes"
    yield (
        f"{line}; the machine's load was {min(loads):g} to {max(loads):g} on {manifest['cores']} "
        "cores."
    )
    yield ""
    more = [f"- {kind[:1].upper()}{kind[1:]}: {words}." for kind, words in manifest["data"].items()]
    if failures := manifest.get("failures"):
        more.append(f"- Cases that failed, each tried again once: {'; '.join(failures)}.")
    if more:
        yield from (*more, "")


def how_it_was_run(manifest: dict[str, Any]) -> Iterator[str]:
    """The manifest."""
    yield "## How it was run"
    yield ""
    yield "```json"
    yield json.dumps(manifest, indent=2, ensure_ascii=False)
    yield "```"

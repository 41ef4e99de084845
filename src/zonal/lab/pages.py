"""Pieces of report pages that several evaluations share: verdicts, tables, how it was run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from zonal.lab.claims import Verdict


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

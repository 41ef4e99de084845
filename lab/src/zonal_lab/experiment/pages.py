"""Pieces of pages: verdicts, tables, pictures, what was run and how."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from zonal_lab.experiment.claims import LEAST_ROUNDS, OURS, Ruling

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from _typeshed import DataclassInstance

    from zonal_lab.experiment.claims import Verdict


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


def verdict_table(title: str, verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Claims, what their authors found, our number with its interval, and the verdict."""
    rows = [verdict_row(each) for each in verdicts]
    if rows:
        yield f"## {title}"
        yield ""
        yield from table(("claim", "where", "theirs", "ours (95 % interval)", "verdict"), rows)


def verdict_tables(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """The verdicts on our own figures, then those on each published work's claims."""
    found = list(verdicts)
    works = dict.fromkeys(each.claim.work for each in found)
    for work in sorted(works, key=lambda each: each != OURS):
        title = "Figures to reach" if work == OURS else f"The claims of {work}"
        yield from verdict_table(title, [each for each in found if each.claim.work == work])
    if any(not each.claim.exact for each in found):
        yield (
            "A number is the mean of the rounds; its interval is that of 1,000 draws of as many "
            f"rounds with replacement. With fewer than {LEAST_ROUNDS} rounds nothing is told."
        )
        yield ""


def verdict_row(verdict: Verdict) -> tuple[str, ...]:
    """A claim, where it stands, their number, ours, and the verdict."""
    claim, words = verdict.claim, verdict.words
    told = words if verdict.ruling is not Ruling.FAILS else f"**{words}**"
    return claim.text, claim.where, claim.theirs or "–", verdict.ours, told


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
    changed = {True: "", False: ", with changes", None: ""}[manifest.get("clean")]
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
    if manifest.get("older"):
        yield "**From an older commit**: the code was changed since this was run."
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

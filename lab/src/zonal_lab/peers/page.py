"""The page on peers: each work's figures, and what each system does better than we do."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from zonal_lab.experiment import picture, table
from zonal_lab.peers.pictures import draw_ratios
from zonal_lab.peers.plan import NAMES, WORKS
from zonal_lab.peers.samples import METRICS, OURS, Compared
from zonal_lab.peers.words import TITLES, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from zonal_lab.experiment import Results
    from zonal_lab.peers.samples import Metric


def page(results: Results, folder: Path, name: str) -> Iterator[str]:
    """The page's lines; a picture for each work goes into the folder."""
    found, plan = Compared(results), results.manifest()["plan"]
    yield (
        "Figures are medians of the rounds, in which systems take turns. **Bold**: better than "
        "ours in at least four rounds of five; processor time is that of the server's processes, "
        "which hardly depends on what else the machine does; rates and latencies do."
    )
    yield ""
    if found.missing:
        yield "Not to be had where this was run: " + "; ".join(
            f"{NAMES[system]} ({why})" for system, why in sorted(found.missing.items())
        ) + "."  # fmt: skip
        yield ""
    yield from _better(found)
    for work in WORKS:
        if not found.systems(work):
            continue
        yield f"## {TITLES[work]}"
        yield ""
        yield words_of(work, plan)
        yield ""
        yield from _figures(found, work)
        file = f"{name}-{work}.png"
        draw_ratios(found, work, folder / file)
        yield from picture(f"{TITLES[work]}: how many times as good as ours", file)


def _better(found: Compared) -> Iterator[str]:
    """From the data: who surely has a better figure than ours, and by how much."""
    yield "## What each does better than we do"
    yield ""
    rows = []
    for system in NAMES:
        if system == OURS:
            continue
        measured = [m for m in METRICS if found.ratios(m, system)]
        if not measured:
            continue
        better = [m for m in measured if found.surely_better(m, system)]
        worse = [m for m in measured if found.surely_worse(m, system)]
        said = "; ".join(_by_how_much(found, each, system) for each in better) or "nothing"
        rows.append((NAMES[system], f"{len(better)}, {len(worse)} of {len(measured)}", said))
    yield from table(("", "figures better, worse than ours", "better, and how many times"), rows)


def _by_how_much(found: Compared, metric: Metric, system: str) -> str:
    middle = median(found.ratios(metric, system))
    times = middle if metric.more else 1 / max(middle, 1e-9)
    return f"{metric.title} × {times:,.0f}" if times >= 10 else f"{metric.title} × {times:.1f}"


def _figures(found: Compared, work: str) -> Iterator[str]:
    systems = found.systems(work)
    yield from table(
        ("", *(NAMES[each] for each in systems)),
        (
            (metric.title, *(_cell(found, metric, system) for system in systems))
            for metric in METRICS
            if metric.work == work
        ),
        right=1,
    )


def _cell(found: Compared, metric: Metric, system: str) -> str:
    value = found.middle(metric, system)
    if value is None:
        return "–"
    text = metric.written(value)
    return f"**{text}**" if system != OURS and found.surely_better(metric, system) else text

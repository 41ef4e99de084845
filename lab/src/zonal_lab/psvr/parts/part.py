"""A part of the evaluation: its tasks, what a task computes, and what the page says of the rows.

Tasks and rows are plain dictionaries of numbers and words, because they travel to Spark workers
and into Parquet files as they are.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from zonal_lab.experiment import Claim, Draw
    from zonal_lab.psvr.plan import PsvrPlan, Recordings

Row = dict[str, Any]
"""A task, or what came of it: numbers and words by name."""

WORK = "PSVR 2016"
CHANNEL = 1
"""What everybody publishes and subscribes to."""

OURS, THEIRS, GREY = "#1b4965", "#d1495b", "#99a3ab"
"""Colours of the pictures: PSVR, what it is compared with, and lines to hold them against."""
SCHEME_NAMES = {"psvr": "PSVR", "shen": "Shen"}
SCHEME_COLOURS = {"psvr": OURS, "shen": THEIRS}


@dataclass(frozen=True)
class Part:
    """One part of the experiment.

    Attributes:
        name: of its cases, files and picture.
        title: of its section.
        tasks: for a plan, the recordings and a number of nodes (0: all of the part's own).
        work: from a task to its row or rows; it keeps nothing between two tasks.
        section: from all rows of the part and a path for its picture, the lines of the page.
        claims: what others say and what we want, by rows, of which there may be none.
        sizes: numbers of nodes, a case each; in a quick run only the first.
        draws: whether it has a picture.
        spreads: whether tasks may run side by side, on Spark.
        recorded: whether its links are recorded ones, so that a case is one network.
    """

    name: str
    title: str
    tasks: Callable[[PsvrPlan, Recordings, int], list[Row]]
    work: Callable[[Row], Row | list[Row]]
    section: Callable[[Sequence[Row], Path], Iterator[str]]
    claims: Callable[[Sequence[Row]], Iterable[Claim]] = lambda _: ()
    sizes: tuple[int, ...] = (0,)
    draws: bool = True
    spreads: bool = True
    recorded: bool = False


def product(seed: int, repeat: int, **axes: Iterable[Any]) -> list[Row]:
    """The product of all axes, each point repeated with a seed of its own."""
    points = [values for values in itertools.product(*axes.values()) for _ in range(repeat)]
    return [
        dict(zip(axes, values, strict=True)) | {"seed": seed + number}
        for number, values in enumerate(points)
    ]


def gain(ours: float, theirs: float) -> float:
    """100 B/A − 100: per cent of messages more than the other approach."""
    return 100 * ours / theirs - 100 if theirs else 0.0


def drawn_share(draw: Draw, rows: Sequence[Row], part: str, whole: str) -> float:
    """Per cent that one column is of another, in the rows that a draw picks."""
    return 100 * draw([row[part] for row in rows]) / draw([row[whole] for row in rows])


def grouped(rows: Iterable[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by the values of some fields."""
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[key] for key in keys)].append(row)
    return dict(sorted(found.items()))


def gain_of(rows: Sequence[Row], ours: str, theirs: str) -> float:
    """The gain over all publications of some rows."""
    return gain(sum(r[ours] for r in rows), sum(r[theirs] for r in rows))


def share_of(rows: Sequence[Row], part: str, whole: str) -> float:
    """Per cent that one column's sum is of another's."""
    parts, wholes = (sum(row[column] for row in rows) for column in (part, whole))
    return float(100 * parts / max(wholes, 1))

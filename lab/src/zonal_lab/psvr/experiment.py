"""The experiment `psvr`: the options of its run."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zonal_lab.experiment import Experiment, Results, Trial, numbers, require_known, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal_lab.experiment import Claim


def _trial(
    *,
    quick: Annotated[bool, typer.Option(help="small networks: each part in seconds")] = False,
    parts: Annotated[str, typer.Option(help="comma-separated; else all of them")] = "",
    nodes: Annotated[
        str,
        typer.Option(help="numbers of nodes, comma-separated; a part takes those that it knows"),
    ] = "",
    most: Annotated[int, typer.Option(help="no network with more nodes; 0: no limit")] = 0,
    trace: Annotated[
        Path | None, typer.Option(help="recorded links in k7 format; else they are made up")
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="recorded delivery ratios, one a line: weak links")
    ] = None,
    trajectories: Annotated[
        Path | None, typer.Option(help="folder of .plt files for moving nodes")
    ] = None,
    start: Annotated[float, typer.Option(help="seconds of the recording to leave out")] = 0.0,
    hours: Annotated[float, typer.Option(help="length of a run on recorded links")] = 1.0,
    tests: Annotated[int, typer.Option(help="tests of each number of processes")] = 2,
    master: Annotated[
        str | None, typer.Option(help="Spark's master; without one, tasks run one by one")
    ] = None,
    seed: Annotated[int, typer.Option(help="seed of everything random")] = 1,
) -> Trial[Any]:
    """The mesh: figures 7 to 11 of PSVR 2016, recovery, and what channels and rest cost."""
    from zonal_lab.psvr.parts import PARTS
    from zonal_lab.psvr.plan import PsvrPlan
    from zonal_lab.psvr.trial import PsvrTrial

    names = words(parts) or tuple(PARTS)
    require_known("parts", names, tuple(PARTS))
    chosen = []
    for part in (PARTS[name] for name in names):
        sizes = part.sizes
        if nodes and sizes != (0,):
            sizes = tuple(n for n in numbers(nodes) if part.recorded or n in part.sizes)
        sizes = tuple(n for n in sizes if not most or n <= most)
        chosen += [(part.name, n) for n in (sizes[:1] if quick else sizes)]
    plan = PsvrPlan(tuple(chosen), quick, hours, tests, start, seed)
    return PsvrTrial(plan, trace, table, trajectories, master=master)


def _page(results: Results, folder: Path, name: str) -> Iterable[str]:
    from zonal_lab.psvr.page import page

    return page(results, folder, name)


def _claims(results: Results) -> Iterable[Claim]:
    from zonal_lab.psvr.page import claims

    return claims(results)


EXPERIMENT = Experiment(
    "psvr",
    "The mesh: the evaluation of PSVR 2016",
    _trial,
    _page,
    _claims,
    lambda plan: plan["hours"],
)

"""What each figure sweeps over, and its way from tasks to data, picture and sentence."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any, NamedTuple

from zonal.mesh import connected_gnp
from zonal_lab.psvr import figures, tasks
from zonal_lab.psvr.channels import write_k7
from zonal_lab.psvr.processes.delivery import fleet_test
from zonal_lab.psvr.sweep import Row, read_rows, sweep, write_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

_RADIO = 20  # the one of the sixteen radio channels that a long run is repeated on


class Figure(NamedTuple):
    """One figure: its tasks by size and seed, what is computed, and what is drawn of the rows."""

    name: str
    picture: str
    seed: int
    plan: Callable[[bool, int], list[Row]]
    """From whether it is a quick run, and the seed."""
    work: Callable[[Row], Row | list[Row]]
    draw: Callable[[Sequence[Row], Path], str]
    """Writes the picture and returns the sentence."""


def evaluate(
    figure: Figure, out: Path, *, quick: bool, master: str | None, seed: int | None = None
) -> str:
    """Make a figure: data, manifest, picture and sentence in a folder; its sentence."""
    chosen = figure.seed if seed is None else seed
    rows = sweep(figure.work, figure.plan(quick, chosen), figure.name, master=master)
    write_rows(out, figure.name, rows, f"zonal lab psvr {figure.name}", chosen)
    return _say(out, figure.name, figure.draw(rows, out / figure.picture))


def _say(out: Path, name: str, sentence: str) -> str:
    (out / f"{name}.txt").write_text(sentence + "\n", encoding="utf-8")
    return f"{name}: {sentence}"


def _tasks(seed: int, repeat: int, **axes: Iterable[Any]) -> list[Row]:
    """The product of all axes, each point repeated with its own seed."""
    points = [values for values in itertools.product(*axes.values()) for _ in range(repeat)]
    return [
        dict(zip(axes, values, strict=True)) | {"seed": seed + number}
        for number, values in enumerate(points)
    ]


def _plan_7(quick: bool, seed: int) -> list[Row]:
    sizes = (20, 50, 100) if quick else (20, 50, 100, 200, 500, 1000)
    graphs = {20: 80, 50: 80, 100: 80, 200: 12, 500: 4, 1000: 2}
    counts = (1, 2, 5, 10, 20, 50, 100, 200, 500)
    found = []
    for n in sizes:
        share = [max(p, 2.5 / n) for p in ((0.1, 0.3) if quick else (0.05, 0.1, 0.2, 0.4))]
        if n >= 500:
            share = [0.01, 0.02, 0.05]
        densities = sorted({round(p, 3) for p in share})
        repeat = 3 if quick else graphs[n]
        fits = [s for s in counts if s <= n]
        found += _tasks(seed + n, repeat, n=(n,), p=densities, s=fits, publishers=(10,))
    return found


def _plan_8(quick: bool, seed: int) -> list[Row]:
    points = _tasks(
        seed,
        1 if quick else 2,
        n=(20,) if quick else (50,),
        s=(5,) if quick else (10,),
        side=(25, 35) if quick else (50, 60, 70, 80),
        warm=(90,) if quick else (120,),
        publications=(20,) if quick else (60,),
    )
    return [task | {"scheme": scheme} for task in points for scheme in ("psvr", "shen")]


def _plan_9(quick: bool, seed: int) -> list[Row]:
    size, side = (20, 35) if quick else (50, 60)
    repeat = 2 if quick else 12
    return _tasks(seed, repeat, n=(size,), side=(side,), warm=(90,), subscribers=(size,))


def _plan_10(quick: bool, seed: int) -> list[Row]:
    plane = _tasks(
        seed,
        4 if quick else 10,
        model=("plane",),
        n=(40 if quick else 100,),
        range=(0.25, 0.4) if quick else (0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
        side=(0,),
        max_links=(0,),
    )
    radio = _tasks(
        seed + 1000,
        2 if quick else 8,
        model=("radio",),
        n=(20 if quick else 50,),
        range=(0,),
        side=(30,) if quick else (40, 55, 70),
        max_links=(8,) if quick else (8, 16),
    )
    return [task | {"warm": 90, "s": 1, "draws": 40} for task in (*plane, *radio)]


def _plan_recovery(quick: bool, seed: int) -> list[Row]:
    networks = {8: 10} if quick else {5: 350, 10: 450, 20: 170, 35: 20, 50: 10}
    return [
        task
        for n, repeat in networks.items()
        for task in _tasks(seed + 1000 * n, repeat, n=(n,), corruptions=(10,), max_depth=(32,))
    ]


FIGURES = {
    each.name: each
    for each in (
        Figure("fig7", "mesh-fig7.png", 7, _plan_7, tasks.message_gain, figures.figure_7),
        Figure("fig8", "mesh-fig8.png", 8, _plan_8, tasks.radio_delivery, figures.figure_8),
        Figure("fig9", "mesh-fig9.png", 9, _plan_9, tasks.hop_distances, figures.figure_9),
        Figure("fig10", "mesh-fig10.png", 10, _plan_10, tasks.density_gain, figures.figure_10),
        Figure(
            "recovery",
            "mesh-recovery.png",
            1,
            _plan_recovery,
            tasks.recovery,
            figures.recovery_figure,
        ),
    )
}


class Recorded(NamedTuple):
    """How figure 11 is run.

    `trace` has the links, from `start` seconds on; without one they are made up, and the
    sentence says so.
    """

    trace: Path | None
    start: float
    seed: int
    quick: bool
    hours: float
    tests: int


def evaluate_recorded(
    plan: Recorded,
    out: Path,
    sizes: Sequence[int],
    *,
    master: str | None,
    with_trace: bool,
    with_processes: bool,
) -> str:
    """Make figure 11 of all its data in the folder, after adding the parts that are asked for."""
    out.mkdir(parents=True, exist_ok=True)
    path = _made_up_links(out) if plan.trace is None else plan.trace
    for n in sizes:
        if with_trace:
            runs = _long_runs(plan, path, n)
            rows = sweep(tasks.trace_run, runs, f"figure 11, trace, {n} nodes", master=master)
            command = f"zonal lab psvr fig11 --part trace --nodes {n} --hours {plan.hours:g}"
            write_rows(out, f"fig11-trace-{n}", _named(rows, path), command, plan.seed)
        if with_processes:
            rows = sweep(fleet_test, _fleet_tests(plan, path, n), f"figure 11, {n} processes")
            command = f"zonal lab psvr fig11 --part processes --nodes {n} --tests {plan.tests}"
            write_rows(out, f"fig11-nodes-{n}", _named(rows, path), command, plan.seed)
    long_runs, tests = (
        [row for data in sorted(out.glob(pattern)) for row in read_rows(data)]
        for pattern in ("fig11-trace-*.csv", "fig11-nodes-*.csv")
    )
    return _say(out, "fig11", figures.figure_11(tests, long_runs, out / "mesh-fig11.png"))


def _named(rows: list[Row], path: Path) -> list[Row]:
    """Rows with the name of their trace; in which folder it lies tells nobody anything."""
    return [row | {"trace": path.name} for row in rows]


def _fleet_tests(plan: Recorded, path: Path, n: int) -> list[Row]:
    return _tasks(
        plan.seed,
        1 if plan.quick else plan.tests,
        n=(n,),
        acknowledged=(False, True),
        seconds=(8 if plan.quick else 30,),
        trace=(str(path),),
        start=(plan.start,),
    )


def _long_runs(plan: Recorded, path: Path, n: int) -> list[Row]:
    common = {
        "trace": str(path),
        "start": plan.start,
        "warm": 600.0,
        "seconds": 180.0 if plan.quick else plan.hours * 3600,
        "window": 60.0 if plan.quick else 600.0,
        "every": 5.0 if plan.quick else 20.0,
        "seed": plan.seed,
        "n": n,
    }
    with_one = n == 50 and plan.trace is not None and not plan.quick
    return [
        common
        | {"acknowledged": ack, "channel": channel}
        | {"radio": f"channel {channel}" if channel else "16 channels"}
        for channel in ((0, _RADIO) if with_one else (0,))
        for ack in (False, True)
    ]


def _made_up_links(out: Path) -> Path:
    """A random graph whose links lose nothing, a twentieth or a fifth, as a trace."""
    made = out / figures.MADE_UP
    rng = random.Random(1)
    graph = connected_gnp(50, 0.12, rng)
    write_k7(made, {(a, b): rng.choice((0.8, 0.95, 1.0)) for a in graph for b in graph[a]})
    return made

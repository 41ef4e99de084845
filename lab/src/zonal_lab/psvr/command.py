"""`zonal lab psvr`: the figures of the PSVR paper with our numbers, each from one command."""

from __future__ import annotations

import itertools
import random
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = dict[str, Any]

app = typer.Typer(help="The PSVR evaluation: figures 7 to 11 and recovery.", no_args_is_help=True)

Quick = Annotated[bool, typer.Option(help="a small run, in seconds instead of minutes")]
Out = Annotated[Path, typer.Option(help="folder for data, manifest and picture")]
Master = Annotated[str, typer.Option(help="Spark master; 'none' runs without Spark")]
Trace = Annotated[Path, typer.Option(help="link trace in k7 format")]
Seed = Annotated[int, typer.Option(help="seed of everything random")]

_OUT = Path("out/psvr")
_TRACE = Path("../shared/data/iotlab_k7/grenoble.k7.gz")


def _tasks(seed: int, repeat: int, **axes: Iterable[Any]) -> list[Row]:
    """The product of all axes, each point repeated with its own seed."""
    tasks: list[Row] = []
    for values in itertools.product(*axes.values()):
        for _ in range(repeat):
            tasks.append(dict(zip(axes, values, strict=True)) | {"seed": seed + len(tasks)})
    return tasks


def _finish(out: Path, name: str, rows: list[Row], sentence: str, seed: int) -> None:
    from zonal_lab.psvr.sweep import write_rows

    write_rows(out, name, rows, f"zonal lab psvr {name}", seed)
    (out / f"{name}.txt").write_text(sentence + "\n", encoding="utf-8")
    Console().print(f"{name}: {sentence}", highlight=False)


def _master(master: str) -> str | None:
    return None if master == "none" else master


@app.command()
def fig7(
    quick: Quick = False, out: Out = _OUT, master: Master = "local[*]", seed: Seed = 7
) -> None:
    """Message gain over T_D and T_S on connected G(n, p)."""
    from zonal_lab.psvr.figures import figure_7
    from zonal_lab.psvr.sweep import sweep
    from zonal_lab.psvr.tasks import message_gain

    sizes = (20, 50, 100) if quick else (20, 50, 100, 200, 500, 1000)
    graphs = {20: 80, 50: 80, 100: 80, 200: 12, 500: 4, 1000: 2}
    counts = (1, 2, 5, 10, 20, 50, 100, 200, 500)
    tasks = []
    for n in sizes:
        share = [max(p, 2.5 / n) for p in ((0.1, 0.3) if quick else (0.05, 0.1, 0.2, 0.4))]
        if n >= 500:
            share = [0.01, 0.02, 0.05]
        densities = sorted({round(p, 3) for p in share})
        repeat = 3 if quick else graphs[n]
        fits = [s for s in counts if s <= n]
        tasks += _tasks(seed + n, repeat, n=(n,), p=densities, s=fits, publishers=(10,))
    rows = sweep(message_gain, tasks, "figure 7", master=_master(master))
    out.mkdir(parents=True, exist_ok=True)
    _finish(out, "fig7", rows, figure_7(rows, out / "mesh-fig7.png"), seed)


@app.command()
def fig8(
    quick: Quick = False, out: Out = _OUT, master: Master = "local[*]", seed: Seed = 8
) -> None:
    """Delivery over the radio model by density, PSVR beside Shen."""
    from zonal_lab.psvr.figures import figure_8
    from zonal_lab.psvr.sweep import sweep
    from zonal_lab.psvr.tasks import radio_delivery

    tasks = _tasks(
        seed,
        1 if quick else 2,
        n=(20,) if quick else (50,),
        s=(5,) if quick else (10,),
        side=(25, 35) if quick else (50, 60, 70, 80),
        warm=(90,) if quick else (120,),
        publications=(20,) if quick else (60,),
    )
    both = [task | {"scheme": scheme} for task in tasks for scheme in ("psvr", "shen")]
    rows = sweep(radio_delivery, both, "figure 8", master=_master(master))
    out.mkdir(parents=True, exist_ok=True)
    _finish(out, "fig8", rows, figure_8(rows, out / "mesh-fig8.png"), seed)


@app.command()
def fig9(
    quick: Quick = False, out: Out = _OUT, master: Master = "local[*]", seed: Seed = 9
) -> None:
    """Hop distances with one subscriber, PSVR beside Shen on the same tree."""
    from zonal_lab.psvr.figures import figure_9
    from zonal_lab.psvr.sweep import sweep
    from zonal_lab.psvr.tasks import hop_distances

    size, side = (20, 35) if quick else (50, 60)
    tasks = _tasks(
        seed, 2 if quick else 12, n=(size,), side=(side,), warm=(90,), subscribers=(size,)
    )
    rows = sweep(hop_distances, tasks, "figure 9", master=_master(master))
    out.mkdir(parents=True, exist_ok=True)
    _finish(out, "fig9", rows, figure_9(rows, out / "mesh-fig9.png"), seed)


@app.command()
def fig10(
    quick: Quick = False, out: Out = _OUT, master: Master = "local[*]", seed: Seed = 10
) -> None:
    """Messages saved against Shen by density."""
    from zonal_lab.psvr.figures import figure_10
    from zonal_lab.psvr.sweep import sweep
    from zonal_lab.psvr.tasks import density_gain

    repeat = 4 if quick else 10
    ranges = (0.25, 0.4) if quick else (0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
    n = 40 if quick else 100
    tasks = _tasks(seed, repeat, model=("plane",), n=(n,), range=ranges, s=(1,), draws=(40,))
    sides = (30,) if quick else (40, 55, 70)
    radio = _tasks(
        seed + 1000, 2 if quick else 8, model=("radio",), n=(20 if quick else 50,), side=sides,
        max_links=(8,) if quick else (8, 16), warm=(90,), s=(1,), draws=(40,),
    )  # fmt: skip
    rows = sweep(density_gain, tasks + radio, "figure 10", master=_master(master))
    same = [{"range": 0, "side": 0, "warm": 0, "max_links": 0, **row} for row in rows]
    sentence = figure_10(same, _picture(out, "mesh-fig10.png"))
    _finish(out, "fig10", same, sentence, seed)


def _picture(out: Path, name: str) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    return out / name


class Part(StrEnum):
    """What of figure 11 to run: an hour of processes and ten hours of trace need not be one run."""

    ALL = "all"
    TRACE = "trace"
    PROCESSES = "processes"


@app.command()
def fig11(
    quick: Quick = False,
    out: Out = _OUT,
    trace: Trace = _TRACE,
    master: Master = "local[*]",
    seed: Seed = 11,
    hours: Annotated[float, typer.Option(help="length of the long run")] = 1.0,
    tests: Annotated[int, typer.Option(help="tests per number of processes")] = 2,
    nodes: Annotated[
        list[int] | None, typer.Option(help="numbers of nodes, else 10, 20, 50")
    ] = None,
    part: Annotated[Part, typer.Option(help="the long runs, the processes, or both")] = Part.ALL,
) -> None:
    """Delivery of real processes with link faults, and long runs on the recorded trace.

    The picture and the sentence are made of all data in the folder, so parts add up.
    """
    from zonal_lab.psvr.figures import figure_11
    from zonal_lab.psvr.sweep import read_rows

    path = _trace_or_made(trace, out)
    sizes = tuple(nodes or ((10,) if quick else (10, 20, 50)))
    for n in sizes:
        if part is not Part.PROCESSES:
            _trace_part(out, path, 0.05 if quick else hours, _master(master), n, quick, seed)
        if part is not Part.TRACE:
            _process_part(out, path, 1 if quick else tests, n, quick, seed)
    long_runs = [row for data in sorted(out.glob("fig11-trace-*.csv")) for row in read_rows(data)]
    measured = [row for data in sorted(out.glob("fig11-nodes-*.csv")) for row in read_rows(data)]
    sentence = figure_11(measured, long_runs, _picture(out, "mesh-fig11.png"))
    (out / "fig11.txt").write_text(sentence + "\n", encoding="utf-8")
    Console().print(f"fig11: {sentence}", highlight=False)


def _trace_part(
    out: Path, path: Path, hours: float, master: str | None, n: int, quick: bool, seed: int
) -> None:
    from zonal_lab.psvr.sweep import sweep, write_rows
    from zonal_lab.psvr.tasks import trace_run

    runs = _long_runs(path, hours, quick=quick, seed=seed, n=n)
    rows = sweep(trace_run, runs, f"figure 11, trace, {n} nodes", master=master)
    command = f"zonal lab psvr fig11 --part trace --nodes {n} --hours {hours:g}"
    write_rows(out, f"fig11-trace-{n}", rows, command, seed)


def _process_part(out: Path, path: Path, tests: int, n: int, quick: bool, seed: int) -> None:
    from zonal_lab.psvr.fleet import fleet_test
    from zonal_lab.psvr.sweep import sweep, write_rows

    tasks = _tasks(
        seed, tests, n=(n,), acknowledged=(False, True), seconds=(8 if quick else 30,),
        trace=(str(path),),
    )  # fmt: skip
    rows = sweep(fleet_test, tasks, f"figure 11, {n} processes", master=None)
    command = f"zonal lab psvr fig11 --part processes --nodes {n} --tests {tests}"
    write_rows(out, f"fig11-nodes-{n}", rows, command, seed)


def _long_runs(path: Path, hours: float, *, quick: bool, seed: int, n: int) -> list[Row]:
    common = {
        "trace": str(path), "start": 9200.0 if "grenoble" in path.name else 0.0, "warm": 600.0,
        "seconds": hours * 3600, "window": 60.0 if quick else 600.0,
        "every": 5.0 if quick else 20.0, "seed": seed, "n": n,
    }  # fmt: skip
    radios: tuple[int | None, ...] = (None, 20) if n == 50 and not quick else (None,)
    return [
        common
        | {"acknowledged": ack, "channel": channel or 0}
        | {"radio": f"channel {channel}" if channel else "16 channels"}
        for channel in radios
        for ack in (False, True)
    ]


def _trace_or_made(trace: Path, out: Path) -> Path:
    """The recorded trace, or a made one in the same format where there is none."""
    if trace.exists():
        return trace
    from zonal.mesh.graphs import connected_gnp
    from zonal_lab.psvr.traces import write_k7

    out.mkdir(parents=True, exist_ok=True)
    made = out / "made.k7"
    rng = random.Random(1)
    graph = connected_gnp(50, 0.12, rng)
    write_k7(made, {(a, b): rng.choice((0.8, 0.95, 1.0)) for a in graph for b in graph[a]})
    Console(stderr=True).print(f"no trace at {trace}: using {made}, made by chance")
    return made


@app.command()
def recovery(
    quick: Quick = False, out: Out = _OUT, master: Master = "local[*]", seed: Seed = 1
) -> None:
    """Rounds to recover from corrupted node states: 10,000 of them."""
    from zonal_lab.psvr.figures import recovery_figure
    from zonal_lab.psvr.sweep import sweep
    from zonal_lab.psvr.tasks import recovery as recover

    plan = {8: 10} if quick else {5: 350, 10: 450, 20: 170, 35: 20, 50: 10}
    tasks = []
    for n, networks in plan.items():
        tasks += _tasks(seed + 1000 * n, networks, n=(n,), corruptions=(10,), max_depth=(32,))
    rows = sweep(recover, tasks, "recovery", master=_master(master))
    _finish(out, "recovery", rows, recovery_figure(rows, _picture(out, "mesh-recovery.png")), seed)


@app.command(name="all")
def everything(
    quick: Quick = False, out: Out = _OUT, trace: Trace = _TRACE, master: Master = "local[*]"
) -> None:
    """All figures, one after the other."""
    for command in (fig7, fig8, fig9, fig10, recovery):
        command(quick=quick, out=out, master=master)
    fig11(quick=quick, out=out, trace=trace, master=master)


@app.command()
def launch(
    nodes: Annotated[int, typer.Option(help="number of processes")] = 50,
    loss: Annotated[float, typer.Option(help="share of packets that each link loses")] = 0.05,
    cuts: Annotated[int, typer.Option(help="links to cut on the way")] = 3,
    publications: Annotated[int, typer.Option(help="publications to send")] = 60,
    namespaces: Annotated[bool, typer.Option(help="network namespaces (as root)")] = False,
    acknowledged: Annotated[bool, typer.Option(help="acknowledge hop by hop")] = True,
    seed: Annotated[int, typer.Option(help="seed of topology and faults")] = 1,
) -> None:
    """Start real processes, each with its own neighbours only, and count what arrives."""
    from zonal_lab.psvr.console import run_launch

    run_launch(
        nodes,
        loss=loss,
        cuts=cuts,
        publications=publications,
        namespaces=namespaces,
        acknowledged=acknowledged,
        seed=seed,
    )


@app.command()
def draw(
    path: Annotated[Path, typer.Argument(help="picture to write (.png or .svg)")],
    nodes: Annotated[int, typer.Option(help="number of nodes")] = 24,
    reach: Annotated[float, typer.Option(help="radio reach in a square of side 1")] = 0.32,
    subscribers: Annotated[int, typer.Option(help="number of subscribers")] = 5,
    trace: Annotated[Path | None, typer.Option(help="a k7 link trace instead")] = None,
    seed: Annotated[int, typer.Option(help="seed of the topology")] = 4,
) -> None:
    """Let a simulated mesh settle, publish once, and draw tree, ring, shortcuts and the way."""
    from zonal_lab.psvr.console import run_draw

    run_draw(path, nodes=nodes, reach=reach, subscribers=subscribers, trace=trace, seed=seed)

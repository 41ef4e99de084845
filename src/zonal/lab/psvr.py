"""`zonal lab psvr`: the figures of the PSVR paper with our numbers, each from one command."""

from __future__ import annotations

import itertools
import random
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
    from zonal.lab.psvr_sweep import write_rows

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
    from zonal.lab.psvr_figures import figure_7
    from zonal.lab.psvr_sweep import sweep
    from zonal.lab.psvr_tasks import message_gain

    sizes = (20, 50, 100) if quick else (20, 50, 100, 200, 500, 1000)
    counts = (1, 2, 5, 10, 20, 50, 100, 200, 500)
    tasks = []
    for n in sizes:
        share = [max(p, 2.2 / n) for p in ((0.1, 0.3) if quick else (0.05, 0.1, 0.2, 0.4))]
        if n >= 500:
            share = [0.01, 0.02, 0.05]
        densities = sorted({round(p, 3) for p in share})
        repeat = 3 if quick else max(3, 1500 // n)
        fits = [s for s in counts if s <= n]
        tasks += _tasks(seed + n, repeat, n=(n,), p=densities, s=fits, publishers=(20,))
    rows = sweep(message_gain, tasks, "figure 7", master=_master(master))
    out.mkdir(parents=True, exist_ok=True)
    _finish(out, "fig7", rows, figure_7(rows, out / "mesh-fig7.png"), seed)


@app.command()
def fig8(
    quick: Quick = False, out: Out = _OUT, master: Master = "local[*]", seed: Seed = 8
) -> None:
    """Delivery over the radio model by density, PSVR beside Shen."""
    from zonal.lab.psvr_figures import figure_8
    from zonal.lab.psvr_sweep import sweep
    from zonal.lab.psvr_tasks import radio_delivery

    tasks = _tasks(
        seed,
        1 if quick else 3,
        n=(20,) if quick else (50,),
        s=(5,) if quick else (10,),
        side=(25, 35) if quick else (50, 60, 70, 80),
        warm=(90,) if quick else (120,),
        publications=(20,) if quick else (80,),
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
    from zonal.lab.psvr_figures import figure_9
    from zonal.lab.psvr_sweep import sweep
    from zonal.lab.psvr_tasks import hop_distances

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
    from zonal.lab.psvr_figures import figure_10
    from zonal.lab.psvr_sweep import sweep
    from zonal.lab.psvr_tasks import density_gain

    repeat = 4 if quick else 20
    ranges = (0.25, 0.4) if quick else (0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
    n = 40 if quick else 100
    tasks = _tasks(seed, repeat, model=("plane",), n=(n,), range=ranges, s=(1,), draws=(40,))
    sides = (30,) if quick else (40, 50, 60, 70)
    radio = _tasks(
        seed + 1000, 2 if quick else 4, model=("radio",), n=(20 if quick else 50,), side=sides,
        warm=(90,), s=(1,), draws=(40,),
    )  # fmt: skip
    rows = sweep(density_gain, tasks + radio, "figure 10", master=_master(master))
    sentence = figure_10(rows, _picture(out, "mesh-fig10.png"))
    same = [{"range": 0, "side": 0, "warm": 0, **row} for row in rows]
    _finish(out, "fig10", same, sentence, seed)


def _picture(out: Path, name: str) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    return out / name


@app.command()
def fig11(
    quick: Quick = False,
    out: Out = _OUT,
    trace: Trace = _TRACE,
    master: Master = "local[*]",
    seed: Seed = 11,
    hours: Annotated[float, typer.Option(help="length of the long run")] = 10.0,
    tests: Annotated[int, typer.Option(help="tests per number of processes")] = 4,
) -> None:
    """Delivery of real processes with link faults, and long runs on the recorded trace."""
    from zonal.lab.psvr_figures import figure_11
    from zonal.lab.psvr_fleet import fleet_test
    from zonal.lab.psvr_sweep import sweep
    from zonal.lab.psvr_tasks import trace_run

    path = _trace_or_made(trace, out)
    sizes = (10,) if quick else (10, 20, 50)
    runs = _long_runs(path, 0.05 if quick else hours, quick=quick, seed=seed, nodes=sizes)
    long_runs = sweep(trace_run, runs, "figure 11, trace", master=_master(master))
    fleets = _tasks(
        seed, 1 if quick else tests, n=sizes, acknowledged=(False, True),
        seconds=(8 if quick else 40,), trace=(str(path),),
    )  # fmt: skip
    measured = sweep(fleet_test, fleets, "figure 11, processes", master=None)
    sentence = figure_11(measured, long_runs, _picture(out, "mesh-fig11.png"))
    _finish(out, "fig11-trace", long_runs, sentence, seed)
    _finish(out, "fig11", measured, sentence, seed)


def _long_runs(
    path: Path, hours: float, *, quick: bool, seed: int, nodes: tuple[int, ...]
) -> list[Row]:
    common = {
        "trace": str(path), "start": 9200.0 if "grenoble" in path.name else 0.0, "warm": 120.0,
        "seconds": hours * 3600, "window": 60.0 if quick else 600.0,
        "every": 5.0 if quick else 20.0, "seed": seed,
    }  # fmt: skip
    tasks = [
        common | {"n": n, "acknowledged": ack, "channel": None, "radio": "16 channels"}
        for n in nodes
        for ack in (False, True)
    ]
    if not quick:
        tasks += [
            common | {"n": 50, "acknowledged": ack, "channel": 20, "radio": "channel 20"}
            for ack in (False, True)
        ]
    return tasks


def _trace_or_made(trace: Path, out: Path) -> Path:
    """The recorded trace, or a made one in the same format where there is none."""
    if trace.exists():
        return trace
    from zonal.mesh.graphs import connected_gnp
    from zonal.mesh.traces import write_k7

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
    from zonal.lab.psvr_figures import recovery_figure
    from zonal.lab.psvr_sweep import sweep
    from zonal.lab.psvr_tasks import recovery as recover

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

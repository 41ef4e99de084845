"""`zonal lab psvr`: the figures of the PSVR paper with our numbers, each from one command."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

app = typer.Typer(help="The PSVR evaluation: figures 7 to 11 and recovery.", no_args_is_help=True)

Quick = Annotated[bool, typer.Option(help="a small run, in seconds instead of minutes")]
Out = Annotated[Path, typer.Option(help="folder for data, manifest and picture")]
Master = Annotated[str, typer.Option(help="Spark master; 'none' runs without Spark")]
Trace = Annotated[
    Path | None, typer.Option(help="recorded links in k7 format; else they are made up")
]
Start = Annotated[float, typer.Option(help="seconds of the recording to leave out")]
Seed = Annotated[int | None, typer.Option(help="seed of everything random, else the figure's own")]

_OUT = Path("out/psvr")
_FIGURES = {
    "fig7": "Message gain over T_D and T_S on connected G(n, p).",
    "fig8": "Delivery over the radio model by density, PSVR beside Shen.",
    "fig9": "Hop distances with one subscriber, PSVR beside Shen on the same tree.",
    "fig10": "Messages saved against Shen by density.",
    "recovery": "Rounds to recover from corrupted node states: 10,000 of them.",
}


def _figure(name: str) -> Callable[..., None]:
    def command(
        quick: Quick = False, out: Out = _OUT, master: Master = "local[*]", seed: Seed = None
    ) -> None:
        from zonal_lab.psvr.evaluation import FIGURES, evaluate  # heavy imports stay lazy

        typer.echo(evaluate(FIGURES[name], out, quick=quick, master=_master(master), seed=seed))

    return command


for _name, _help in _FIGURES.items():
    app.command(_name, help=_help)(_figure(_name))


def _master(master: str) -> str | None:
    return None if master == "none" else master


class Part(StrEnum):
    """What of figure 11 to run: an hour of processes and ten hours of trace need not be one run."""

    ALL = "all"
    TRACE = "trace"
    PROCESSES = "processes"


@app.command()
def fig11(
    quick: Quick = False,
    out: Out = _OUT,
    trace: Trace = None,
    start: Start = 0.0,
    master: Master = "local[*]",
    seed: Annotated[int, typer.Option(help="seed of everything random")] = 11,
    hours: Annotated[float, typer.Option(help="length of the long run")] = 1.0,
    tests: Annotated[int, typer.Option(help="tests per number of processes")] = 2,
    nodes: Annotated[
        list[int] | None, typer.Option(help="numbers of nodes, else 10, 20, 50")
    ] = None,
    part: Annotated[Part, typer.Option(help="the long runs, the processes, or both")] = Part.ALL,
) -> None:
    """Delivery of real processes with link faults, and long runs on recorded links.

    The picture and the sentence are made of all data in the folder, so parts add up.
    """
    from zonal_lab.psvr.evaluation import Recorded, evaluate_recorded

    plan = Recorded(trace, start, seed, quick=quick, hours=hours, tests=tests)
    typer.echo(
        evaluate_recorded(
            plan,
            out,
            nodes or ([10] if quick else [10, 20, 50]),
            master=_master(master),
            with_trace=part is not Part.PROCESSES,
            with_processes=part is not Part.TRACE,
        )
    )


@app.command()
def channels(
    number: Annotated[
        list[int] | None, typer.Option(help="channels in the mesh, else 60, 600, 5000; repeatable")
    ] = None,
    nodes: Annotated[int, typer.Option(help="nodes of the mesh")] = 60,
) -> None:
    """State in memory and octets of beacons and SUBs, as a function of channels."""
    from zonal_lab.psvr.channel_cost import channel_cost, describe

    typer.echo(describe(channel_cost(nodes, count) for count in number or (60, 600, 5000)))


@app.command()
def rest(
    periods: Annotated[
        list[int] | None, typer.Option(help="periods between beacons, else 1, 2, 4, 8; repeatable")
    ] = None,
    nodes: Annotated[int, typer.Option(help="nodes of the mesh")] = 30,
) -> None:
    """Packets and octets a node an hour while nothing happens, by how far beacons slow down."""
    from zonal_lab.psvr.rest_cost import describe_rest, rest_cost

    typer.echo(describe_rest(rest_cost(pace, nodes) for pace in periods or (1, 2, 4, 8)))


@app.command(name="all")
def everything(
    quick: Quick = False,
    out: Out = _OUT,
    trace: Trace = None,
    start: Start = 0.0,
    master: Master = "local[*]",
) -> None:
    """All figures, one after the other."""
    for name in _FIGURES:
        _figure(name)(quick=quick, out=out, master=master)
    fig11(quick=quick, out=out, trace=trace, start=start, master=master)


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
    from zonal_lab.psvr.processes.launch import run_launch

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
    trace: Annotated[Path | None, typer.Option(help="recorded links instead")] = None,
    start: Start = 0.0,
    seed: Annotated[int, typer.Option(help="seed of the topology")] = 4,
) -> None:
    """Let a simulated mesh settle, publish once, and draw tree, ring, shortcuts and the way."""
    from zonal_lab.psvr.settled_mesh import draw_settled

    drawn = draw_settled(
        path,
        nodes=nodes,
        reach=reach,
        subscribers=subscribers,
        trace=trace,
        start=start,
        seed=seed,
    )
    typer.echo(f"{path}: {drawn}")

"""`zonal lab psvr`: a mesh to look at; what is measured is `zonal lab run psvr`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import Annotated

import typer

app = typer.Typer(
    help="Meshes to look at: processes under faults, a picture.", no_args_is_help=True
)


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
    start: Annotated[float, typer.Option(help="seconds of the recording to leave out")] = 0.0,
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

"""`zonal mesh`: run a node, launch a fleet of processes, draw a mesh."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 — typer reads annotations at run time
from typing import Annotated

import typer

app = typer.Typer(help="Publish/subscribe where there are no routers.", no_args_is_help=True)


@app.command()
def node(
    node_id: Annotated[int, typer.Option("--id", help="identifier, unique in the mesh")],
    port: Annotated[int, typer.Option(help="UDP port; 0 takes a free one")] = 0,
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    peer: Annotated[
        list[str] | None, typer.Option(help="neighbour in reach: ID=HOST:PORT[,LOSS]")
    ] = None,
    subscribe: Annotated[list[int] | None, typer.Option(help="channel to print")] = None,
    publish: Annotated[
        int | None, typer.Option(help="channel to publish lines of stdin on")
    ] = None,
    seconds: Annotated[float, typer.Option(help="how long to run; 0: until interrupted")] = 0.0,
    acknowledged: Annotated[bool, typer.Option(help="acknowledge hop by hop")] = False,
    period: Annotated[
        float, typer.Option(help="seconds between beacons, the same in the whole mesh")
    ] = 1.0,
) -> None:
    """Run one mesh node over UDP: publications in, lines out."""
    from zonal.mesh.console import run_console  # heavy imports stay lazy

    run_console(
        node_id,
        (host, port),
        peer or [],
        subscribe=subscribe or [],
        publish=publish,
        seconds=seconds,
        acknowledged=acknowledged,
        period=period,
    )


@app.command()
def gateway(
    node_id: Annotated[int, typer.Option("--id", help="identifier, unique in the mesh")],
    topic: Annotated[list[str], typer.Option(help="topic to carry, both ways")],
    connect: Annotated[list[str], typer.Option(help="Zenoh router, e.g. tcp/127.0.0.1:7447")],
    port: Annotated[int, typer.Option(help="UDP port; 0 takes a free one")] = 0,
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    peer: Annotated[
        list[str] | None, typer.Option(help="neighbour in reach: ID=HOST:PORT[,LOSS]")
    ] = None,
    seconds: Annotated[float, typer.Option(help="how long to run; 0: until interrupted")] = 0.0,
    acknowledged: Annotated[bool, typer.Option(help="acknowledge hop by hop")] = False,
    period: Annotated[
        float, typer.Option(help="seconds between beacons, the same in the whole mesh")
    ] = 1.0,
) -> None:
    """Run a mesh node that carries topics between the mesh and Zenoh routers."""
    from zonal.mesh.console import run_gateway

    run_gateway(
        node_id,
        (host, port),
        peer or [],
        topic,
        connect,
        seconds=seconds,
        acknowledged=acknowledged,
        period=period,
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
    from zonal.mesh.console import run_launch

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
    from zonal.mesh.console import run_draw

    run_draw(path, nodes=nodes, reach=reach, subscribers=subscribers, trace=trace, seed=seed)

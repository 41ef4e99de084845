"""`zonal mesh`: run a node, or a gateway between a mesh and routers."""

from __future__ import annotations

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

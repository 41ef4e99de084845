"""`zonal mesh`: run a node, or a gateway between a mesh and routers."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING, Annotated

import typer

from zonal.cli.connection import Connect, connected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal import mesh

app = typer.Typer(help="Publish/subscribe where there are no routers.", no_args_is_help=True)

_PERIOD_S = 1.0

Id = Annotated[int, typer.Option("--id", help="Identifier, unique in the mesh.")]
Port = Annotated[int, typer.Option(help="UDP port; 0 takes a free one.")]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Peers = Annotated[
    list[str] | None, typer.Option(help="Neighbour in reach, ID=HOST:PORT; repeatable.")
]
Seconds = Annotated[float, typer.Option(help="How long to run; 0: until Ctrl-C.")]
Acknowledged = Annotated[bool, typer.Option(help="Acknowledge hop by hop.")]
Period = Annotated[float, typer.Option(help="Seconds between beacons, the same in the whole mesh.")]


@app.command()
def node(
    node_id: Id,
    port: Port = 0,
    host: Host = "127.0.0.1",
    peer: Peers = None,
    subscribe: Annotated[
        list[int] | None, typer.Option(help="Channel to print; repeatable.")
    ] = None,
    publish: Annotated[
        int | None, typer.Option(help="Channel to publish the lines of standard input on.")
    ] = None,
    seconds: Seconds = 0.0,
    acknowledged: Acknowledged = False,
    period: Period = _PERIOD_S,
) -> None:
    """Run one mesh node over UDP: publications in, lines out."""
    from zonal import mesh

    config = _paced(period, acknowledged=acknowledged)
    own = mesh.MeshNode(node_id, config, seed=time.time_ns(), now=time.monotonic())
    driver = mesh.UdpDriver(own, address=(host, port), deliver=_print_delivery)
    driver.set_peers(_table(peer))
    for channel in subscribe or ():
        own.subscribe(channel, time.monotonic())
    print(f"node {node_id} listens on {driver.address[0]}:{driver.address[1]}", flush=True)
    try:
        _run(driver, publish, time.monotonic() + seconds if seconds else float("inf"))
    except KeyboardInterrupt:
        pass
    finally:
        driver.close()


def _run(driver: mesh.UdpDriver, publish: int | None, end: float) -> None:
    """Drive the node until then; lines of standard input are published, if a channel is given."""
    from zonal import mesh

    lines = mesh.LineReader(sys.stdin.fileno())
    while time.monotonic() < end:
        if publish is None or not lines.open:
            driver.turn()
        elif driver.turn([lines]):
            for line in lines.read():
                driver.publish(publish, line)


@app.command()
def gateway(
    node_id: Id,
    topic: Annotated[list[str], typer.Option(help="Topic to carry, both ways; repeatable.")],
    connect: Connect,
    port: Port = 0,
    host: Host = "127.0.0.1",
    peer: Peers = None,
    seconds: Seconds = 0.0,
    acknowledged: Acknowledged = False,
    period: Period = _PERIOD_S,
) -> None:
    """Run a mesh node that carries topics between the mesh and Zenoh routers; count them."""
    from zonal import mesh

    config = _paced(period, acknowledged=acknowledged)
    with (
        mesh.open(node_id, listen=(host, port), peers=_table(peer), config=config) as own,
        connected(connect, "client") as session,
        mesh.Gateway(own, session, topic) as gate,
    ):
        print(f"gateway {node_id} listens on {own.address[0]}:{own.address[1]}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait(seconds or None)
        print(f"to Zenoh {gate.counters.to_zenoh}, to the mesh {gate.counters.to_mesh}")


def _paced(period: float, *, acknowledged: bool) -> mesh.MeshConfig:
    """The configuration of a mesh whose nodes send beacons this often; leases keep pace with it."""
    from zonal import mesh

    lease = mesh.MeshConfig().lease_floor * period / _PERIOD_S
    return mesh.MeshConfig(period=period, lease_floor=lease, acknowledged=acknowledged)


def _table(peers: Sequence[str] | None) -> dict[int, mesh.Address]:
    from zonal import mesh

    return dict(map(mesh.parse_peer, peers or ()))


def _print_delivery(effect: mesh.Deliver) -> None:
    text = effect.data.decode("utf-8", "replace")
    print(f"{effect.channels[0]} from {effect.origin}: {text}", flush=True)

"""`zonal mesh`: a node without configuration, and what it hears, says and knows."""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
import time
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zonal import mesh
from zonal.cli.connection import connected
from zonal.cli.key_files import read_mesh_key, write_private
from zonal.cli.mesh_picture import live_picture, status_lines
from zonal.cli.notation import given, parse_area, parse_point
from zonal.cli.options import (
    Area,
    Connect,
    Fenced,
    Geofence,
    Insecure,
    JsonLines,
    Message,
    Most,
    Pattern,
    Position,
)
from zonal.cli.output import console, json_of, line_of, payload_text
from zonal.cli.pub import messages
from zonal.cli.stopping import stop_event

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(help="Publish/subscribe where there are no routers.", no_args_is_help=True)

_PERIOD_S = 1.0
_WATCH_S = 1.0
_PATIENT = {"connect/timeout_ms": -1, "connect/exit_on_failure": False, "listen/endpoints": []}
"""A Zenoh session that opens without a router, and goes on looking for it."""

Id = Annotated[
    int | None, typer.Option("--id", help="Identifier, unique in the mesh; else drawn by chance.")
]
Interfaces = Annotated[
    list[str] | None,
    typer.Option("--interface", help="Network card to find neighbours on; repeatable. Else all."),
]
GroupPort = Annotated[
    int, typer.Option(help="UDP port of the mesh's group; another is another mesh.")
]
Port = Annotated[int, typer.Option(help="UDP port for --peer; 0 takes a free one.")]
Host = Annotated[str, typer.Option(help="Address to listen on for --peer.")]
Peers = Annotated[
    list[str] | None,
    typer.Option(
        help="Neighbour in reach, ID=HOST:PORT; repeatable. Then none are looked for, unless "
        "--interface says where."
    ),
]
Seconds = Annotated[float, typer.Option("--seconds", "-s", help="Stop after so long; 0: never.")]
Acknowledged = Annotated[bool, typer.Option(help="Acknowledge hop by hop.")]
Period = Annotated[float, typer.Option(help="Seconds between beacons, the same in the whole mesh.")]
Rest = Annotated[
    int, typer.Option(min=1, help="Periods between beacons, at most, while nothing changes.")
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        exists=True,
        dir_okay=False,
        help="The key of the mesh, the same at all nodes: nobody else is heard.",
    ),
]
DoorPath = Annotated[
    Path | None,
    typer.Option("--socket", help="Unix socket of the node; else one for each user."),
]


@app.command()
def node(
    node_id: Id = None,
    interface: Interfaces = None,
    group_port: GroupPort = mesh.GROUP_PORT,
    peer: Peers = None,
    port: Port = 0,
    host: Host = "127.0.0.1",
    position: Position = None,
    socket: DoorPath = None,
    seconds: Seconds = 0.0,
    acknowledged: Acknowledged = True,
    period: Period = _PERIOD_S,
    rest: Rest = 1,
    key_file: KeyFile = None,
    insecure: Insecure = False,
    json_lines: JsonLines = False,
) -> None:
    """Run a mesh node until Ctrl-C; it finds its neighbours, and serves sub, pub and status."""
    stop = stop_event()
    with (
        mesh.open(
            node_id,
            listen=(host, port),
            peers=_table(peer),
            position=given(position, parse_point),
            config=_paced(period, rest, acknowledged=acknowledged),
            discovery=_discovery(interface, peer, group_port, period),
            key=given(key_file, read_mesh_key),
            insecure=insecure,
        ) as own,
        mesh.Door(own, socket or mesh.default_door()) as door,
    ):
        address = f"{own.address[0]}:{own.address[1]}"
        told = json.dumps({"node": own.id, "address": address, "socket": str(door.path)})
        typer.echo(told if json_lines else f"node {own.id} listens on {address}")
        typer.echo(f"zonal mesh sub, pub and status reach it at {door.path}", err=True)
        deadline = time.monotonic() + seconds if seconds else inf
        while not stop.wait(0.2) and time.monotonic() < deadline:
            own.check_runs()


@app.command("key")
def key(
    path: Annotated[Path, typer.Argument(help="Where the key of the mesh goes.")],
) -> None:
    """Make a key of a mesh; all its nodes need the same (--key-file)."""
    write_private(path, secrets.token_hex(32).encode() + b"\n")
    typer.echo(f"{path} is for the nodes of the mesh")


@app.command()
def sub(
    key: Pattern,
    area: Area = None,
    fenced: Fenced = False,
    count: Most = None,
    seconds: Seconds = 0.0,
    socket: DoorPath = None,
    json_lines: JsonLines = False,
) -> None:
    """Print what the node of this machine hears of a topic in an area, until Ctrl-C."""
    stop = stop_event()
    deadline = time.monotonic() + seconds if seconds else inf
    shown = 0
    for sample in _client(socket).samples(key, area=given(area, parse_area), fenced=fenced):
        if sample is not None:
            typer.echo(_as_json(sample) if json_lines else _as_line(sample))
            shown += 1
        if shown == count or stop.is_set() or time.monotonic() > deadline:
            return


@app.command()
def pub(
    key: Annotated[str, typer.Argument(help="The topic, such as street/a/noise.")],
    message: Message = None,
    at: Annotated[
        str | None,
        typer.Option("--at", help="Where the message comes from: lat,lon. Else from the node."),
    ] = None,
    geofence: Geofence = None,
    socket: DoorPath = None,
) -> None:
    """Publish a message (or the lines of standard input) through the node of this machine."""
    place, fence, client = given(at, parse_point), given(geofence, parse_area), _client(socket)
    for text in messages(message):
        client.put(key, text.encode(), location=place, geofence=fence)


@app.command()
def status(
    watch: Annotated[bool, typer.Option(help="A live picture, until Ctrl-C.")] = False,
    seconds: Seconds = 0.0,
    socket: DoorPath = None,
    json_lines: JsonLines = False,
) -> None:
    """Show links, tree, ring, tables and counters of the node of this machine."""
    client = _client(socket)
    if watch:
        _watch(client, time.monotonic() + seconds if seconds else inf, json_lines=json_lines)
        return
    found = client.status()
    typer.echo(json.dumps(_members(found)) if json_lines else "\n".join(status_lines(found)))


@app.command()
def gateway(
    topic: Annotated[list[str], typer.Option(help="Topic to carry, both ways; repeatable.")],
    connect: Connect,
    node_id: Id = None,
    interface: Interfaces = None,
    group_port: GroupPort = mesh.GROUP_PORT,
    peer: Peers = None,
    port: Port = 0,
    host: Host = "127.0.0.1",
    seconds: Seconds = 0.0,
    acknowledged: Acknowledged = True,
    period: Period = _PERIOD_S,
    rest: Rest = 1,
    key_file: KeyFile = None,
    insecure: Insecure = False,
    json_lines: JsonLines = False,
) -> None:
    """Run a mesh node that carries topics between the mesh and Zenoh routers; count them.

    What the mesh says while no router is in reach goes to the routers later.
    """
    config = _paced(period, rest, acknowledged=acknowledged)
    found = _discovery(interface, peer, group_port, period)
    with (
        mesh.open(
            node_id,
            listen=(host, port),
            peers=_table(peer),
            config=config,
            discovery=found,
            key=given(key_file, read_mesh_key),
            insecure=insecure,
        ) as own,
        connected(connect, "peer", settings=_PATIENT) as session,
        mesh.Gateway(own, session, topic) as gate,
    ):
        listens = f"gateway {own.id} listens on {own.address[0]}:{own.address[1]}"
        print(json.dumps({"node": own.id}) if json_lines else listens, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait(seconds or None)
        counted, kept = gate.counters, gate.backlog
        figures = {
            "to_zenoh": counted.to_zenoh, "waiting": len(kept), "dropped": kept.dropped,
            "to_mesh": counted.to_mesh,
        }  # fmt: skip
        said = (
            f"to Zenoh {counted.to_zenoh} ({len(kept)} wait, {kept.dropped} dropped), "
            f"to the mesh {counted.to_mesh}"
        )
        print(json.dumps(figures) if json_lines else said)


def _watch(client: mesh.DoorClient, deadline: float, *, json_lines: bool) -> None:
    """Show the node once a second: in place, or as a JSON object a line."""
    from rich.live import Live

    stop, before = stop_event(), None
    shown = console()
    shown.quiet = json_lines
    with Live(console=shown, auto_refresh=False, screen=shown.is_terminal) as live:
        while True:
            found = client.status()
            if json_lines:
                typer.echo(json.dumps(_members(found)))
            live.update(live_picture(found, before, _WATCH_S), refresh=True)
            before = found
            if stop.wait(_WATCH_S) or time.monotonic() > deadline:
                return


def _client(path: Path | None) -> mesh.DoorClient:
    return mesh.DoorClient(path or mesh.default_door())


def _discovery(
    cards: Sequence[str] | None, peers: Sequence[str] | None, port: int, period: float
) -> mesh.Discovery | None:
    """Look on the cards that are named, or on all; nowhere where only peers are named."""
    if peers and not cards:
        return None
    patience_s = mesh.MeshConfig().silence * period
    return mesh.Discovery(cards or None, port=port, patience_s=patience_s)


def _paced(period: float, rest: int, *, acknowledged: bool) -> mesh.MeshConfig:
    """The configuration of a mesh whose nodes send beacons this often; leases keep pace with it."""
    lease = mesh.MeshConfig().lease_floor * period / _PERIOD_S
    return mesh.MeshConfig(
        period=period,
        rest_periods=rest,
        lease_floor=lease,
        acknowledged=acknowledged,
        write_back=6,
    )


def _table(peers: Sequence[str] | None) -> dict[int, mesh.Address]:
    return dict(map(mesh.parse_peer, peers or ()))


def _as_line(sample: mesh.MeshSample) -> str:
    return line_of(sample.key, sample.location, payload_text(sample.payload))


def _as_json(sample: mesh.MeshSample) -> str:
    more = {"source": sample.source, "from_gateway": sample.from_gateway}
    return json_of(sample.key, sample.location, sample.geofence, sample.payload, more)


def _members(found: mesh.MeshStatus) -> dict[str, Any]:
    return found._asdict() | {"links": [link._asdict() for link in found.links]}

"""`zonal mesh`: a node without configuration, and what it hears, says and knows."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from zonal import mesh
from zonal.cli.connection import Area, Connect, JsonLines, Position, connected
from zonal.cli.notation import AREA_HELP, given, parse_area, parse_point
from zonal.cli.output import payload_member, payload_text
from zonal.cli.stopping import stop_event

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

app = typer.Typer(help="Publish/subscribe where there are no routers.", no_args_is_help=True)

_PERIOD_S = 1.0
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
        ) as own,
        mesh.Door(own, socket or mesh.default_door()) as door,
    ):
        address = f"{own.address[0]}:{own.address[1]}"
        told = json.dumps({"node": own.id, "address": address, "socket": str(door.path)})
        typer.echo(told if json_lines else f"node {own.id} listens on {address}")
        typer.echo(f"zonal mesh sub, pub and status reach it at {door.path}", err=True)
        deadline = time.monotonic() + seconds if seconds else float("inf")
        while not stop.wait(0.2) and time.monotonic() < deadline:
            own.check_runs()


@app.command()
def sub(
    key: Annotated[str, typer.Argument(help="The topic; * and ** are wildcards.")],
    area: Area = None,
    fenced: Annotated[bool, typer.Option(help="Hear all messages with a geofence too.")] = False,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="Stop after so many messages.")
    ] = None,
    seconds: Seconds = 0.0,
    socket: DoorPath = None,
    json_lines: JsonLines = False,
) -> None:
    """Print what the node of this machine hears of a topic in an area, until Ctrl-C."""
    stop = stop_event()
    deadline = time.monotonic() + seconds if seconds else float("inf")
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
    message: Annotated[
        str | None, typer.Argument(help="The message; without it, one a line from standard input.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", help="Where the message comes from: lat,lon. Else from the node."),
    ] = None,
    geofence: Annotated[
        str | None, typer.Option("--geofence", "-g", help=f"Only those inside hear it. {AREA_HELP}")
    ] = None,
    socket: DoorPath = None,
) -> None:
    """Publish a message (or the lines of standard input) through the node of this machine."""
    place, fence, client = given(at, parse_point), given(geofence, parse_area), _client(socket)
    for text in _messages(message):
        client.put(key, text.encode(), location=place, geofence=fence)


@app.command()
def status(
    watch: Annotated[bool, typer.Option(help="Show it anew every second, until Ctrl-C.")] = False,
    socket: DoorPath = None,
    json_lines: JsonLines = False,
) -> None:
    """Show links, tree, ring, tables and counters of the node of this machine."""
    client = _client(socket)
    stop = stop_event() if watch else None
    while True:
        found = client.status()
        if watch and not json_lines:
            click.clear()
        typer.echo(json.dumps(_members(found)) if json_lines else _picture(found))
        if stop is None or stop.wait(1.0):
            return


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
    json_lines: JsonLines = False,
) -> None:
    """Run a mesh node that carries topics between the mesh and Zenoh routers; count them.

    What the mesh says while no router is in reach goes to the routers later.
    """
    config = _paced(period, rest, acknowledged=acknowledged)
    found = _discovery(interface, peer, group_port, period)
    with (
        mesh.open(
            node_id, listen=(host, port), peers=_table(peer), config=config, discovery=found
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


def _messages(message: str | None) -> Iterator[str]:
    if message is not None:
        yield message
        return
    for line in sys.stdin:
        yield line.rstrip("\n")


def _as_line(sample: mesh.MeshSample) -> str:
    place = sample.location
    where = "nowhere" if place is None else f"{place.lat:.5f}, {place.lon:.5f}"
    return f"{sample.key}  {where}  {payload_text(sample.payload)}"


def _as_json(sample: mesh.MeshSample) -> str:
    place = sample.location
    record: dict[str, Any] = {
        "key": sample.key,
        "lat": None if place is None else place.lat,
        "lon": None if place is None else place.lon,
        "source": sample.source,
        "from_gateway": sample.from_gateway,
    }
    if sample.geofence is not None:
        record["geofence"] = sample.geofence.to_wkt()
    return json.dumps(record | payload_member(sample.payload), ensure_ascii=False)


def _members(found: mesh.MeshStatus) -> dict[str, Any]:
    return found._asdict() | {"links": [link._asdict() for link in found.links]}


def _picture(found: mesh.MeshStatus) -> str:
    """A node for people: a line for each link, then tree, ring, tables and what is counted."""
    lines = [f"node {found.node}"]
    lines += [
        f"  link {link.node:>10}  {link.quality:4.0%}  {'used' if link.used else 'heard':5}  "
        f"{link.address}"
        for link in found.links
    ] or ["  no links: nobody was heard yet"]
    above = "it is the root" if found.parent == found.node else f"parent {found.parent}"
    below = ", ".join(map(str, found.children)) or "none"
    lines.append(f"  tree  root {found.root}, depth {found.depth}, {above}, children {below}")
    ring = ", ".join(map(str, found.positions)) or "none yet"
    nodes = found.length // 2 + 1
    lines.append(f"  ring  positions {ring} of {found.length}: {nodes} nodes")
    lines.append(
        f"  table {found.channels} channels in {found.rows} rows; {found.wanted} subscribed here"
    )
    counted = ", ".join(f"{name} {value}" for name, value in found.counters.items() if value)
    lines.append(f"  count {counted or 'nothing yet'}")
    return "\n".join(lines)

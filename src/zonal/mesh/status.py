"""A node as it stands: links, tree, ring, tables and counters, as values to show or to send."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

from zonal.mesh.routing import Psvr

if TYPE_CHECKING:
    from zonal.mesh.udp import UdpDriver


class LinkStatus(NamedTuple):
    """One neighbour: where it is, how well it is heard both ways, whether both ends keep it."""

    node: int
    address: str
    quality: float
    used: bool


class MeshStatus(NamedTuple):
    """What a node knows of itself and its neighbours at one moment."""

    node: int
    links: tuple[LinkStatus, ...]
    root: int
    depth: int
    parent: int
    children: tuple[int, ...]
    positions: tuple[int, ...]
    """On the ring; none while the mesh forms."""
    length: int
    """Of the ring: 2(n − 1) for n nodes."""
    wanted: int
    """Channels that the node subscribes to …"""
    channels: int
    """… and those of the whole mesh in its table, …"""
    rows: int
    """… with as many rows."""
    counters: dict[str, int]


def status_of(driver: UdpDriver) -> MeshStatus:
    """The node as it stands; to be called on the thread that drives it."""
    node, place, layer = driver.node, driver.node.place, driver.node.routing
    table = layer.table.rows if isinstance(layer, Psvr) else {}
    links = tuple(
        LinkStatus(entry.node, driver.where(entry.node), entry.quality, name in node.links.used)
        for name, entry in sorted(node.links.entries.items())
    )
    sockets = {"sent": driver.sent, "lost": driver.lost, "unknown": driver.unknown}
    sockets |= {"impostors": driver.impostors, "unsendable": driver.unsendable}
    sockets |= {"forged": driver.forged, "replayed": driver.replayed}
    return MeshStatus(
        node.id,
        links,
        node.tree.root,
        node.tree.depth,
        node.tree.parent,
        node.view.children,
        place.positions if place else (),
        place.length if place else 0,
        len(layer.wanted),
        len(table),
        sum(map(len, table.values())),
        {**sockets, **asdict(node.counters)},
    )

"""Is the mesh in a legitimate state? A global look that no node has, for tests and experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.mesh.graphs import Graph, components, graph_of
from zonal.mesh.layout import lay_out
from zonal.mesh.routing import Psvr

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from zonal.mesh.node import MeshNode
    from zonal.mesh.place import Place


def used_graph(nodes: Mapping[int, MeshNode]) -> Graph:
    """The links that both ends use."""
    edges = (
        (a, b)
        for a, node in nodes.items()
        for b in node.links.used
        if a < b and b in nodes and a in nodes[b].links.used
    )
    return graph_of(edges, nodes)


def faults(nodes: Mapping[int, MeshNode], now: float, whole: int | None = None) -> Iterator[str]:
    """Everything that is not as it should be, from the links up; nothing: legitimate.

    `whole` is the number of parts that the network should have fallen into.
    """
    graph = used_graph(nodes)
    parts = components(graph)
    if whole is not None and len(parts) != whole:
        yield f"{len(parts)} parts instead of {whole}"
    for node in nodes.values():
        yield from _link_faults(node, nodes, graph)
    for part in parts:
        members = {name: nodes[name] for name in part}
        yield from _tree_faults(members)
        yield from _ring_faults(members)
        yield from _table_faults(members, now)


def is_legitimate(nodes: Mapping[int, MeshNode], now: float, whole: int | None = None) -> bool:
    """Whether there is no fault."""
    return next(faults(nodes, now, whole), None) is None


def _link_faults(node: MeshNode, nodes: Mapping[int, MeshNode], graph: Graph) -> Iterator[str]:
    if set(node.links.used) != set(graph[node.id]):
        yield f"{node.id} uses {sorted(node.links.used)}, both ends use {graph[node.id]}"
    if len(node.links.used) > node.config.max_links:
        yield f"{node.id} uses {len(node.links.used)} links"
    for other, entry in node.links.used.items():
        if other in nodes and entry.view[:8] != nodes[other].view[:8]:
            yield f"{node.id} has an outdated view of {other}"


def _tree_faults(part: Mapping[int, MeshNode]) -> Iterator[str]:
    root = min(part)
    for node in part.values():
        place = node.tree
        if place.root != root:
            yield f"{node.id} has root {place.root}, not {root}"
        elif node.id == root:
            if place.parent != root or place.depth != 0:
                yield f"root {root} hangs on {place.parent}"
        elif place.parent not in node.links.used or place.parent not in part:
            yield f"{node.id} hangs on {place.parent}, which is no neighbour"
        elif place.depth != part[place.parent].tree.depth + 1:
            yield f"{node.id} is at depth {place.depth}, its parent is not one above"


def _ring_faults(part: Mapping[int, MeshNode]) -> Iterator[str]:
    tree = {name: node.tree.parent for name, node in part.items()}
    edges = [(name, parent) for name, parent in tree.items() if name != parent]
    if len(edges) != len(tree) - 1 or components(graph_of(edges, tree)) != [set(tree)]:
        yield "no tree, so no ring"
        return
    layout = lay_out(tree)
    for name, node in part.items():
        if node.place is None or node.place.positions != layout.positions[name]:
            yield f"{name} is not at {layout.positions[name]}"
        elif node.place.length != layout.length or node.view.length != layout.length:
            yield f"{name} takes the ring to be {node.place.length} long, it is {layout.length}"


def _true_next(
    position: int, subscribers: Mapping[int, tuple[int, ...]], me: int, length: int
) -> int | None:
    """The next subscriber other than the node itself, counter-clockwise from a position."""
    places = (p for name, owned in subscribers.items() if name != me for p in owned)
    return min(places, key=lambda p: (p - position) % length, default=None)


def _table_faults(part: Mapping[int, MeshNode], now: float) -> Iterator[str]:
    layers = {n: node.routing for n, node in part.items() if isinstance(node.routing, Psvr)}
    known = {c for layer in layers.values() for c in (*layer.wanted, *layer.table.rows)}
    for channel in known:
        subscribers = {
            n: layer.table.positions for n, layer in layers.items() if channel in layer.wanted
        }
        for name, layer in layers.items():
            table = layer.table
            if len(table.rows.get(channel, table.positions)) != len(table.positions):
                yield f"{name} has rows for other positions"
                continue
            for index, position in enumerate(table.positions):
                truth = _true_next(position, subscribers, name, table.length)
                found = table.nearest((channel,), index)
                if found != truth:
                    yield f"{name} at {position} has {found} next on {channel}, not {truth}"
    for name, layer in layers.items():
        if _standing(layer.place) != _standing(part[name].place):
            yield f"{name}'s layers differ about its place"
        if now < layer.cautious_until:
            yield f"{name} does not trust its table yet"


def _standing(place: Place | None) -> tuple[object, ...] | None:
    """A place without the shortcuts from it, of which a routing layer need not use all."""
    return None if place is None else place[:5]

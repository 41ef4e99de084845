"""Pictures of a mesh: topology, tree, ring, shortcuts, and the way of a publication."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from zonal.mesh import lay_out
from zonal_lab.psvr.peers import places, ring_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from zonal.mesh import Graph, Layout, Tree
    from zonal_lab.psvr.peers import Message
    from zonal_lab.psvr.plane import Points

_TREE, _SHORTCUT, _WAY = "#1b4965", "#b9c6cf", "#d1495b"
_SUBSCRIBER, _PUBLISHER, _PLAIN = "#f2c14e", "#d1495b", "white"


def spread(graph: Graph, rounds: int = 250) -> Points:
    """Places for the nodes of a graph without places: springs along links, repulsion otherwise."""
    names = sorted(graph)
    count = len(names)
    at = {
        n: [math.cos(2 * math.pi * i / count), math.sin(2 * math.pi * i / count)]
        for i, n in enumerate(names)
    }
    ideal = 1.6 / math.sqrt(count)
    for step in range(rounds):
        moves = {n: [0.0, 0.0] for n in names}
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                dx, dy = at[a][0] - at[b][0], at[a][1] - at[b][1]
                gap = max(math.hypot(dx, dy), 1e-3)
                force = ideal * ideal / gap
                if b in graph[a]:
                    force -= gap * gap / ideal
                moves[a][0] += dx / gap * force
                moves[a][1] += dy / gap * force
                moves[b][0] -= dx / gap * force
                moves[b][1] -= dy / gap * force
        heat = 0.12 * (1 - step / rounds)
        for n, (dx, dy) in moves.items():
            length = max(math.hypot(dx, dy), 1e-9)
            at[n][0] += dx / length * min(length, heat)
            at[n][1] += dy / length * min(length, heat)
    return {n: (x, y) for n, (x, y) in at.items()}


def draw(
    path: Path,
    graph: Graph,
    tree: Tree,
    *,
    points: Mapping[int, tuple[float, float]] | None = None,
    subscribers: Collection[int] = (),
    publisher: int | None = None,
    messages: Sequence[Message] = (),
) -> None:
    """Topology with its tree on the left, the ring with its shortcuts on the right."""
    figure = Figure(figsize=(13, 6.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    colours = {n: _SUBSCRIBER if n in subscribers else _PLAIN for n in graph}
    if publisher is not None:
        colours[publisher] = _PUBLISHER
    _draw_topology(left, graph, tree, points or spread(graph), colours, messages)
    layout = lay_out(tree)
    _draw_ring(right, graph, layout, colours, messages)
    for axes in (left, right):
        axes.set_aspect("equal")
        axes.axis("off")
    figure.savefig(path, dpi=110)


def _draw_topology(
    axes: Axes,
    graph: Graph,
    tree: Tree,
    points: Mapping[int, tuple[float, float]],
    colours: Mapping[int, str],
    messages: Sequence[Message],
) -> None:
    for a in graph:
        for b in graph[a]:
            if a < b:
                in_tree = tree[a] == b or tree[b] == a
                (x1, y1), (x2, y2) = points[a], points[b]
                axes.plot(
                    [x1, x2], [y1, y2],
                    color=_TREE if in_tree else _SHORTCUT,
                    linewidth=2.4 if in_tree else 1.0,
                    zorder=1,
                )  # fmt: skip
    for message in messages:
        _arrow(axes, points[message.sender], points[message.receiver])
    _dots(axes, points, colours, {n: str(n) for n in graph})
    axes.set_title("topology: tree (dark), other links (light)" + _way(messages))


def _draw_ring(
    axes: Axes,
    graph: Graph,
    layout: Layout,
    colours: Mapping[int, str],
    messages: Sequence[Message],
) -> None:
    ring = ring_of(layout)

    def at(position: int) -> tuple[float, float]:  # 0 is at the top, counter-clockwise on
        angle = math.pi / 2 + 2 * math.pi * position / layout.length
        return math.cos(angle), math.sin(angle)

    for position in range(layout.length):
        (x1, y1), (x2, y2) = at(position), at((position + 1) % layout.length)
        axes.plot([x1, x2], [y1, y2], color=_TREE, linewidth=2.0, zorder=1)
    for place in places(graph, layout).values():
        for own in place.positions:
            for other in place.reach.positions:
                if own < other:
                    (x1, y1), (x2, y2) = at(own), at(other)
                    axes.plot([x1, x2], [y1, y2], color=_SHORTCUT, linewidth=0.7, zorder=0)
    for message in messages:
        _arrow(axes, at(message.position), at(message.goal))
    dots = {position: at(position) for position in range(layout.length)}
    shades = {position: colours[ring[position]] for position in dots}
    _dots(axes, dots, shades, {p: str(ring[p]) for p in dots} if layout.length <= 60 else {})
    step = max(1, layout.length // 20)
    for position in range(0, layout.length, step):
        x, y = at(position)
        axes.text(1.1 * x, 1.1 * y, str(position), ha="center", va="center", color="#667")
    axes.set_title(
        f"virtual ring of length {layout.length}: positions outside, nodes inside, shortcuts light",
        pad=14,
    )


def _way(messages: Sequence[Message]) -> str:
    return f"; a publication in {len(messages)} messages (red)" if messages else ""


def _arrow(axes: Axes, tail: tuple[float, float], head: tuple[float, float]) -> None:
    axes.annotate(
        "",
        xy=head,
        xytext=tail,
        arrowprops={
            "arrowstyle": "-|>", "color": _WAY, "linewidth": 2.0, "shrinkA": 8, "shrinkB": 8,
            "connectionstyle": "arc3,rad=0.08",
        },
        zorder=3,
    )  # fmt: skip


def _dots(
    axes: Axes,
    points: Mapping[int, tuple[float, float]],
    colours: Mapping[int, str],
    labels: Mapping[int, str],
) -> None:
    size = 260 if len(points) <= 40 else 110 if len(points) <= 110 else 30
    names = sorted(points)
    axes.scatter(
        [points[n][0] for n in names],
        [points[n][1] for n in names],
        s=size,
        c=[colours[n] for n in names],
        edgecolors=_TREE,
        zorder=4,
    )
    for name, text in labels.items():
        x, y = points[name]
        axes.text(x, y, text, ha="center", va="center", fontsize=8 if size > 200 else 5, zorder=5)

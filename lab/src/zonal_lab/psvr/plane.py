"""Points in the plane, and who is in whose reach there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from zonal.errors import MeshError
from zonal.mesh import component, graph_of

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from zonal.mesh import Graph

Points = dict[int, tuple[float, float]]


def random_points(nodes: int, side: float, rng: random.Random) -> Points:
    """Nodes placed uniformly in a square."""
    return {node: (rng.random() * side, rng.random() * side) for node in range(nodes)}


def geometric(points: Mapping[int, tuple[float, float]], reach: float) -> Graph:
    """Nodes within `reach` of each other are neighbours."""
    names = sorted(points)
    near = (
        (a, b)
        for i, a in enumerate(names)
        for b in names[i + 1 :]
        if math.dist(points[a], points[b]) <= reach
    )
    return graph_of(near, names)


def connected_points(
    nodes: int, reach: float, rng: random.Random, tries: int = 200
) -> tuple[Points, Graph]:
    """Nodes in the unit square, drawn again until their reach connects them."""
    for _ in range(tries):
        points = random_points(nodes, 1.0, rng)
        graph = geometric(points, reach)
        if len(component(graph, 0)) == nodes:
            return points, graph
    raise MeshError(f"{nodes} nodes with reach {reach} are hardly ever connected: take more reach")

"""A simulated mesh to look at: it settles, publishes once, and becomes a picture."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from zonal.errors import MeshError
from zonal.mesh import GraphChannel, MeshConfig, Pub, Simulation, faults, used_graph
from zonal_lab.psvr.channels import TraceChannel, read_trace
from zonal_lab.psvr.drawing import draw
from zonal_lab.psvr.parts.part import CHANNEL
from zonal_lab.psvr.peers import Message
from zonal_lab.psvr.plane import connected_points

if TYPE_CHECKING:
    from pathlib import Path


def draw_settled(
    path: Path,
    *,
    nodes: int,
    reach: float,
    subscribers: int,
    trace: Path | None,
    start: float,
    seed: int,
) -> str:
    """Draw a mesh on points in the unit square, or on a trace from this time on; what was drawn.

    Arrows are the messages of one publication as the nodes sent them.
    """
    rng = random.Random(seed)
    points = None
    config = MeshConfig(write_back=6)
    if trace is None:
        points, graph = connected_points(nodes, reach, rng)
        sim = Simulation(GraphChannel(graph), config, seed=seed)
    else:
        sim = Simulation(TraceChannel(read_trace(trace), start=start), config, seed=seed)
    chosen = rng.sample(sorted(sim.nodes), min(subscribers, len(sim.nodes)))
    for name in chosen:
        sim.subscribe(name, CHANNEL)
    settled = sim.run_until(lambda: not any(faults(sim.nodes, sim.now, 1)), 400.0)
    if not settled and trace is None:
        raise MeshError("the mesh did not settle: is the reach too small?")
    publisher = rng.choice([n for n in sorted(sim.nodes) if n not in chosen] or chosen)
    messages = _way_of(sim, publisher)
    tree = {name: node.tree.parent for name, node in sim.nodes.items()}
    draw(
        path,
        used_graph(sim.nodes),
        tree,
        points=points,
        subscribers=chosen,
        publisher=publisher,
        messages=messages,
    )
    return f"{len(sim.nodes)} nodes, a publication in {len(messages)} messages"


def _way_of(sim: Simulation, publisher: int) -> list[Message]:
    """The PUBs of one publication as the nodes sent them, and the positions they left from."""
    sim.log = []
    sim.publish(publisher, CHANNEL, b"x")
    sim.settle(2)
    messages = []
    for _, sender, to, packet in sim.log:
        place = sim.nodes[sender].place
        if isinstance(packet, Pub) and to is not None and place is not None:
            before = min(place.positions, key=lambda p: (packet.goal - p) % place.length)
            messages.append(Message(sender, to, before, packet.goal, packet.end))
    return messages

"""A mesh to look at: a fleet of real processes under faults, and a picture of a settled one."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import track

from zonal.errors import MeshError
from zonal.mesh.channels import GraphChannel
from zonal.mesh.config import MeshConfig
from zonal.mesh.graphs import Graph, component, connected_gnp, geometric, random_points
from zonal.mesh.legitimate import faults, used_graph
from zonal.mesh.packets import Pub
from zonal.mesh.simulation import Simulation
from zonal_lab.psvr.processes import Fleet
from zonal_lab.psvr.schemes import Message
from zonal_lab.psvr.trace_channel import TraceChannel
from zonal_lab.psvr.traces import read_k7

if TYPE_CHECKING:
    from pathlib import Path

_CHANNEL = 1


def run_launch(
    nodes: int,
    *,
    loss: float,
    cuts: int,
    publications: int,
    namespaces: bool,
    acknowledged: bool,
    seed: int,
) -> None:
    """A fleet of processes under faults; prints what was delivered."""
    rng, out = random.Random(seed), Console()
    graph = connected_gnp(nodes, min(1.0, 6 / nodes), rng)
    losses = {(a, b): loss for a in graph for b in graph[a]}
    config = MeshConfig(
        period=0.5, lease_floor=2.0, max_links=12, acknowledged=acknowledged, write_back=6
    )
    with Fleet(losses, config, seed=seed, namespaces=namespaces) as fleet:
        out.print(f"{nodes} processes, {len(losses) // 2} links, {loss:.0%} loss on each")
        subscribers = set(rng.sample(fleet.names, max(nodes // 5, 1)))
        for name in subscribers:
            fleet.subscribe(name, _CHANNEL)
        started = time.monotonic()
        fleet.wait_for_ring(120)
        out.print(f"one ring after {time.monotonic() - started:.1f} s")
        fleet.run(5)
        at = set(rng.sample(range(publications), min(cuts, publications)))
        for step in track(range(publications), "publishing", console=out):
            if step in at:
                a = rng.choice(fleet.names)
                fleet.cut(a, rng.choice(graph[a]))
            fleet.publish(rng.choice(fleet.names), _CHANNEL, b"reading")
            fleet.run(0.3)
        fleet.run(3)
        wanted = sum(len(subscribers - {origin}) for origin, _ in fleet.published)
        got = sum(len(fleet.delivered.get(key, ())) for key in fleet.published)
        out.print(
            f"{len(fleet.published)} publications, {cuts} links cut: "
            f"{got} of {wanted} deliveries ({got / max(wanted, 1):.1%})"
        )


def run_draw(
    path: Path, *, nodes: int, reach: float, subscribers: int, trace: Path | None, seed: int
) -> None:
    """A settled simulation as a picture, with the messages of one publication as they were sent."""
    from zonal_lab.psvr.drawing import draw  # only pictures need matplotlib

    rng = random.Random(seed)
    points = None
    config = MeshConfig(write_back=6)
    if trace is None:
        points, graph = _connected_points(nodes, reach, rng)
        sim = Simulation(GraphChannel(graph), config, seed=seed)
    else:
        sim = Simulation(TraceChannel(read_k7(trace), start=9200.0), config, seed=seed)
    chosen = rng.sample(sorted(sim.nodes), min(subscribers, len(sim.nodes)))
    for name in chosen:
        sim.subscribe(name, _CHANNEL)
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
    Console().print(f"{path}: {len(sim.nodes)} nodes, a publication in {len(messages)} messages")


def _connected_points(
    nodes: int, reach: float, rng: random.Random
) -> tuple[dict[int, tuple[float, float]], Graph]:
    for _ in range(200):
        points = random_points(nodes, 1.0, rng)
        graph = geometric(points, reach)
        if len(component(graph, 0)) == nodes:
            return points, graph
    raise MeshError(f"{nodes} nodes with reach {reach} are hardly ever connected: take more reach")


def _way_of(sim: Simulation, publisher: int) -> list[Message]:
    """The PUBs of one publication as the nodes sent them, and the positions they left from."""
    sim.log = []
    sim.publish(publisher, _CHANNEL, b"x")
    sim.settle(2)
    messages = []
    for _, sender, to, packet in sim.log:
        place = sim.nodes[sender].place
        if isinstance(packet, Pub) and to is not None and place is not None:
            before = min(place.positions, key=lambda p: (packet.goal - p) % place.length)
            messages.append(Message(sender, to, before, packet.goal, packet.end))
    return messages

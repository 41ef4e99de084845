"""A fleet to look at: it forms, loses links, publishes, and says what arrived."""

from __future__ import annotations

import random
import time

from rich.console import Console
from rich.progress import track

from zonal.mesh import MeshConfig, connected_gnp
from zonal_lab.psvr.parts.part import CHANNEL
from zonal_lab.psvr.processes.fleet import Fleet


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
            fleet.subscribe(name, CHANNEL)
        started = time.monotonic()
        fleet.wait_for_ring(120)
        out.print(f"one ring after {time.monotonic() - started:.1f} s")
        fleet.run(5)
        at = set(rng.sample(range(publications), min(cuts, publications)))
        for step in track(range(publications), "publishing", console=out):
            if step in at:
                a = rng.choice(fleet.names)
                fleet.cut(a, rng.choice(graph[a]))
            fleet.publish(rng.choice(fleet.names), CHANNEL, "reading")
            fleet.run(0.3)
        fleet.run(3)
        wanted = sum(len(subscribers - {origin}) for origin, _ in fleet.published)
        got = sum(len(fleet.delivered.get(key, ())) for key in fleet.published)
        out.print(
            f"{len(fleet.published)} publications, {cuts} links cut: "
            f"{got} of {wanted} deliveries ({got / max(wanted, 1):.1%})"
        )

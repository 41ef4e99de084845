"""Figure 11 with real processes: recorded losses, links that come and go, deliveries counted."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

from zonal.mesh import MeshConfig, component, components, graph_of
from zonal_lab.psvr.channels import TraceChannel, read_k7
from zonal_lab.psvr.processes.fleet import Fleet, Losses
from zonal_lab.psvr.tasks import CHANNEL, connected_nodes

if TYPE_CHECKING:
    from zonal_lab.psvr.sweep import Row

_PERIOD = 0.5  # seconds to a beacon
_SETUP = 60  # beacons before the first publication; the paper grants ten minutes
_LAST = 6.0  # seconds for what is still under way: a cut link is noticed after six beacons
_LATE = 1.0  # seconds from which a delivery is called late


def connected_links(path: Path, n: int, at: float) -> Losses:
    """Losses at this time of a trace, on the links of n nodes that hang together."""
    series = read_k7(path)
    chosen = connected_nodes(series, n, at)
    channel = TraceChannel(series)
    return {
        (a, b): 1 - channel.ratio(a, b, at)
        for a, b in series
        if {a, b} <= chosen and channel.ratio(a, b, at) > 0.1
    }


def spare_links(losses: Losses) -> list[tuple[int, int]]:
    """Links without which the good ones still connect everybody: a fault, not a partition."""
    good = {(min(p), max(p)) for p, loss in losses.items() if loss < 0.7}
    names = {name for pair in losses for name in pair}
    return sorted(
        link
        for link in good
        if len(component(graph_of(good - {link}, names), min(names))) == len(names)
    )


def parts_left(losses: Losses, down: set[tuple[int, int]]) -> dict[int, set[int]]:
    """Whom the links that are not cut connect each node with, both ways and however badly."""
    names = {name for pair in losses for name in pair}
    there = {pair for pair in losses if pair not in down and (pair[1], pair[0]) in losses}
    graph = graph_of(((a, b) for a, b in there if a < b), names)
    return {node: part for part in components(graph) for node in part}


def fleet_test(task: Row) -> Row:
    """One test: set up, publish at a steady pace while links are cut and mended, count."""
    rng = random.Random(task["seed"])
    losses = connected_links(Path(task["trace"]), task["n"], task["start"])
    config = MeshConfig(
        period=_PERIOD, lease_floor=5 * _PERIOD, write_back=8, acknowledged=task["acknowledged"]
    )
    with Fleet(losses, config, seed=task["seed"]) as fleet:
        subscribers = set(rng.sample(fleet.names, max(task["n"] // 3, 2)))
        for node in subscribers:
            fleet.subscribe(node, CHANNEL)
        fleet.run(_SETUP * _PERIOD)
        reachable = _publish_under_cuts(fleet, subscribers, rng, task["seconds"])
        fleet.run(_LAST)
        return task | _counted(fleet, subscribers) | {"reachable": reachable}


def _publish_under_cuts(
    fleet: Fleet, subscribers: set[int], rng: random.Random, seconds: float
) -> int:
    """Four publications a second, every ten a cut; how many deliveries the links left possible."""
    links, reachable = spare_links(fleet.losses), 0
    cut: list[tuple[int, int]] = []
    parts = parts_left(fleet.losses, fleet.down)
    for step in range(int(seconds / _PERIOD)):
        if step % 20 == 10 and links:
            if cut:
                fleet.mend(*cut.pop())
            cut.append(rng.choice(links))
            fleet.cut(*cut[-1])
            parts = parts_left(fleet.losses, fleet.down)
        for _ in range(2):
            origin = rng.choice(fleet.names)
            fleet.publish(origin, CHANNEL, "reading")
            reachable += len((subscribers - {origin}) & parts[origin])
            fleet.run(_PERIOD / 2)
    return reachable


def _counted(fleet: Fleet, subscribers: set[int]) -> Row:
    wanted = sum(len(subscribers - {origin}) for origin, _ in fleet.published)
    delays = [
        at - published
        for key, published in fleet.published.items()
        for at in fleet.delivered.get(key, {}).values()
    ]
    reports = fleet.ask().values()
    return {
        "wanted": wanted, "got": len(delays), "publications": len(fleet.published),
        "forwarded": sum(r["forwarded"] for r in reports),
        "repeats": sum(r["repeats"] for r in reports),
        "anew": sum(r["anew"] for r in reports),
        "late": sum(delay > _LATE for delay in delays),
        "latest": round(max(delays, default=0.0), 2),
    }  # fmt: skip

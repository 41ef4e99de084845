"""Figure 11 with real processes: recorded losses, links that come and go, deliveries counted."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from zonal.lab.psvr_tasks import connected_nodes
from zonal.mesh.channels import TraceChannel
from zonal.mesh.config import MeshConfig
from zonal.mesh.fleet import Fleet
from zonal.mesh.graphs import component, graph_of
from zonal.mesh.traces import read_k7

Row = dict[str, Any]
CHANNEL = 1
_PERIOD = 0.5  # seconds to a beacon
_SETUP = 60  # beacons before the first publication; the paper grants ten minutes
_START = 9200.0


def connected_links(path: Path, n: int) -> dict[tuple[int, int], float]:
    """Losses on the links of n nodes of the trace that hang together."""
    series = read_k7(path)
    at = _START if "grenoble" in path.name else 0.0
    chosen = connected_nodes(series, n, at)
    channel = TraceChannel(series)
    return {
        (a, b): 1 - channel.ratio(a, b, at)
        for a, b in series
        if {a, b} <= chosen and channel.ratio(a, b, at) > 0.1
    }


def spare_links(losses: dict[tuple[int, int], float]) -> list[tuple[int, int]]:
    """Links without which the good ones still connect everybody: a fault, not a partition."""
    good = {(min(p), max(p)) for p, loss in losses.items() if loss < 0.7}
    names = {name for pair in losses for name in pair}
    return sorted(
        link
        for link in good
        if len(component(graph_of(good - {link}, names), min(names))) == len(names)
    )


def fleet_test(task: Row) -> Row:
    """One test: set up, publish at a steady pace while links are cut and mended, count."""
    rng = random.Random(task["seed"])
    losses = connected_links(Path(task["trace"]), task["n"])
    config = MeshConfig(
        period=_PERIOD, lease_floor=5 * _PERIOD, write_back=8, acknowledged=task["acknowledged"]
    )
    with Fleet(losses, config, seed=task["seed"]) as fleet:
        subscribers = set(rng.sample(fleet.names, max(task["n"] // 3, 2)))
        for node in subscribers:
            fleet.subscribe(node, CHANNEL)
        fleet.run(_SETUP * _PERIOD)
        links = spare_links(losses)
        cut: list[tuple[int, int]] = []
        for step in range(int(task["seconds"] / _PERIOD)):
            if step % 20 == 10 and links:
                if cut:
                    fleet.mend(*cut.pop())
                cut.append(rng.choice(links))
                fleet.cut(*cut[-1])
            for _ in range(2):
                fleet.publish(rng.choice(fleet.names), CHANNEL, b"reading")
                fleet.run(_PERIOD / 2)
        fleet.run(3)
        wanted = sum(len(subscribers - {origin}) for origin, _ in fleet.published)
        got = sum(len(fleet.delivered.get(key, ())) for key in fleet.published)
        reports = fleet.ask().values()
        return task | {
            "wanted": wanted, "got": got, "publications": len(fleet.published),
            "forwarded": sum(r["forwarded"] for r in reports),
            "repeats": sum(r["repeats"] for r in reports),
        }  # fmt: skip

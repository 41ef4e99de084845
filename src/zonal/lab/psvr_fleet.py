"""Figure 11 with real processes: recorded losses, links that come and go, deliveries counted."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from zonal.lab.psvr_tasks import connected_nodes
from zonal.mesh.channels import TraceChannel
from zonal.mesh.config import MeshConfig
from zonal.mesh.fleet import Fleet
from zonal.mesh.traces import read_k7

Row = dict[str, Any]
CHANNEL = 1
_PERIOD = 0.6  # seconds to a beacon: a minute of the test holds a hundred rounds
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
        fleet.run(25 * _PERIOD + 0.1 * task["n"])  # the set-up phase
        links = sorted({(min(pair), max(pair)) for pair in losses})
        cut: list[tuple[int, int]] = []
        for step in range(int(task["seconds"] / _PERIOD)):
            if step % 25 == 10:
                if cut:
                    fleet.mend(*cut.pop())
                cut.append(rng.choice(links))
                fleet.cut(*cut[-1])
            fleet.publish(rng.choice(fleet.names), CHANNEL, b"reading")
            fleet.run(_PERIOD)
        fleet.run(3)
        wanted = sum(len(subscribers - {origin}) for origin, _ in fleet.published)
        got = sum(len(fleet.delivered.get(key, ())) for key in fleet.published)
        reports = fleet.ask().values()
        return task | {
            "wanted": wanted, "got": got, "publications": len(fleet.published),
            "forwarded": sum(r["forwarded"] for r in reports),
            "repeats": sum(r["repeats"] for r in reports),
        }  # fmt: skip

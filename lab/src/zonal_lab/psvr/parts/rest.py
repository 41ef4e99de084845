"""What a mesh says an hour, at rest and under load, and how soon it notices a cut at rest."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from zonal.mesh import (
    WIRE,
    Ack,
    Beacon,
    GraphChannel,
    MeshConfig,
    Pub,
    Simulation,
    Sub,
    connected_gnp,
    is_legitimate,
    line,
)
from zonal_lab.experiment import table
from zonal_lab.psvr.parts.part import CHANNEL, Part, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from zonal_lab.psvr.plan import PsvrPlan, Recordings

_SETTLE = 200  # periods until beacons have slowed down
_WATCH = 240  # periods
_HOUR_S = 3600
_CUTS = 5
_PAYLOAD = bytes(64)
_KINDS = {Beacon: "beacons", Sub: "subs", Pub: "pubs", Ack: "acks"}


def _tasks(plan: PsvrPlan, data: Recordings, n: int) -> list[Row]:
    del data, n
    nodes, paces = (6, (1, 4)) if plan.quick else (30, (1, 2, 4, 8))
    return [
        {"n": nodes, "rest_periods": pace, "every_s": every, "seed": plan.seed}
        for every in (0, 10)
        for pace in paces
    ]


def hourly_cost(task: Row) -> Row:
    """A mesh on perfect links where every second node subscribes to one channel.

    `every_s`: between two publications of 64 octets, by any node, acknowledged; 0: none.
    `noticed_s`: from a cut of a line of six nodes to two legitimate rings, the longest of five.
    """
    nodes, seed = task["n"], task["seed"]
    config = MeshConfig(rest_periods=task["rest_periods"], acknowledged=True)
    rng = random.Random(seed)
    graph = connected_gnp(nodes, min(6 / nodes, 1.0), rng)
    sim = Simulation(GraphChannel(graph), config, seed=seed)
    for node in range(0, nodes, 2):
        sim.subscribe(node, CHANNEL)
    sim.settle(_SETTLE)
    sim.log = []
    end = sim.now + _WATCH * config.period
    while task["every_s"] and sim.now < end:
        sim.publish(rng.randrange(nodes), CHANNEL, _PAYLOAD)
        sim.run(sim.now + task["every_s"])
    sim.run(end)
    said: dict[type, list[int]] = {kind: [] for kind in _KINDS}
    for _, _, _, packet in sim.log:
        said[type(packet)].append(len(WIRE.encode(packet)))
    share = _HOUR_S / (nodes * _WATCH * config.period)
    counted = {}
    for kind, name in _KINDS.items():
        counted[name] = len(said[kind]) * share
        counted[f"{name}_octets"] = sum(said[kind]) * share
    noticed = max(_seconds_to_notice(config, seed + number) for number in range(_CUTS))
    return task | counted | {"noticed_s": noticed}


def _seconds_to_notice(config: MeshConfig, seed: int) -> float:
    channel = GraphChannel(line(6))
    sim = Simulation(channel, config, seed=seed)
    sim.settle(_SETTLE)
    start = sim.now
    channel.cut(2, 3)
    sim.run_until(lambda: is_legitimate(sim.nodes, sim.now, 2), start + 1000)
    return sim.now - start


def _section(rows: Sequence[Row], picture: Path) -> Iterator[str]:
    del picture
    yield (
        f"{rows[0]['n']} nodes on a random graph with six links each on average, perfect links, "
        "every second node subscribed to one channel; packets and octets a node an hour, from four "
        "minutes. Octets are those of packets, without UDP and IP. SUBs are the paper's lease "
        "traffic; the rest of what a mesh says at rest are beacons, which `rest_periods` slows "
        "down. Under load any node publishes 64 octets every ten seconds, with acknowledgement. A "
        "cut is one in the middle of a line of six nodes at rest, until both halves are "
        "legitimate, the longest of five: recovery is bounded by the pace of beacons."
    )
    yield ""
    yield from table(
        (
            *("publications", "a beacon at least every", "beacons, octets", "SUBs, octets"),
            *("PUBs, octets", "acknowledgements, octets", "all octets", "a cut is noticed in"),
        ),
        (
            (
                f"every {row['every_s']} s" if row["every_s"] else "none",
                f"{row['rest_periods']} s",
                *(f"{row[name]:,.0f}, {row[f'{name}_octets']:,.0f}" for name in _KINDS.values()),
                f"{sum(row[f'{name}_octets'] for name in _KINDS.values()):,.0f}",
                f"{row['noticed_s']:.0f} s",
            )
            for row in sorted(rows, key=lambda row: (row["every_s"], row["rest_periods"]))
        ),
        right=2,
    )


REST = Part(
    "rest", "What a mesh says at rest and under load", _tasks, hourly_cost, _section, draws=False
)

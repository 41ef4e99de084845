"""What a mesh says at rest, in packets and octets a node an hour, and how soon it notices a cut."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from zonal.mesh import (
    WIRE,
    Beacon,
    GraphChannel,
    MeshConfig,
    Simulation,
    Sub,
    connected_gnp,
    is_legitimate,
    line,
)
from zonal_lab.experiment import table
from zonal_lab.psvr.parts.part import Part, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from zonal_lab.psvr.plan import PsvrPlan, Recordings

_SETTLE = 200  # periods until beacons have slowed down
_WATCH = 240  # periods
_HOUR_S = 3600
_CUTS = 5


def _tasks(plan: PsvrPlan, data: Recordings, n: int) -> list[Row]:
    del data, n
    nodes, paces = (6, (1, 4)) if plan.quick else (30, (1, 2, 4, 8))
    return [{"n": nodes, "rest_periods": pace, "seed": plan.seed} for pace in paces]


def rest_cost(task: Row) -> Row:
    """A mesh on perfect links where every second node subscribes to one channel; nothing is said.

    `noticed_s`: from a cut of a line of six nodes to two legitimate rings, the longest of five.
    """
    nodes, seed = task["n"], task["seed"]
    config = MeshConfig(rest_periods=task["rest_periods"])
    graph = connected_gnp(nodes, min(6 / nodes, 1.0), random.Random(seed))
    sim = Simulation(GraphChannel(graph), config, seed=seed)
    for node in range(0, nodes, 2):
        sim.subscribe(node, 2**31)
    sim.settle(_SETTLE)
    sim.log = []
    sim.settle(_WATCH)
    said: dict[type, list[int]] = {Beacon: [], Sub: []}
    for _, _, _, packet in sim.log:
        said[type(packet)].append(len(WIRE.encode(packet)))
    share = _HOUR_S / (nodes * _WATCH * config.period)
    return task | {
        "beacons": len(said[Beacon]) * share,
        "beacon_octets": sum(said[Beacon]) * share,
        "subs": len(said[Sub]) * share,
        "sub_octets": sum(said[Sub]) * share,
        "noticed_s": max(_seconds_to_notice(config, seed + number) for number in range(_CUTS)),
    }


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
        "every second node subscribed to one channel, no publications; four minutes, as an hour. "
        "Octets are those of packets, without UDP and IP. A cut is one in the middle of a line of "
        "six nodes at rest, until both halves are legitimate, the longest of five. SUBs are the "
        "paper's lease traffic."
    )
    yield ""
    yield from table(
        (
            *("beacons at rest", "beacons a node an hour, octets"),
            *("SUBs a node an hour, octets", "a cut is noticed in"),
        ),
        (
            (
                f"every {row['rest_periods']} s",
                f"{row['beacons']:,.0f}, {row['beacon_octets']:,.0f}",
                f"{row['subs']:,.0f}, {row['sub_octets']:,.0f}",
                f"{row['noticed_s']:.0f} s",
            )
            for row in sorted(rows, key=lambda row: row["rest_periods"])
        ),
        right=1,
    )


REST = Part("rest", "What a mesh says at rest", _tasks, rest_cost, _section, draws=False)

"""What a mesh says at rest, in packets and octets a node an hour, and how soon it notices a cut."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

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

if TYPE_CHECKING:
    from collections.abc import Iterable

_SETTLE = 200  # periods until beacons have slowed down
_WATCH = 240  # periods
_HOUR_S = 3600
_CUTS = 5


class RestCost(NamedTuple):
    """Means over the nodes of a mesh without publications, for one bound on the pace."""

    rest_periods: int
    beacons: float
    beacon_octets: float
    subs: float
    sub_octets: float
    noticed_s: float
    """From a cut of a line of six nodes to two legitimate rings, the longest of five."""


def rest_cost(rest_periods: int, nodes: int, seed: int = 1) -> RestCost:
    """Measure a mesh on perfect links where every second node subscribes to the same channel."""
    config = MeshConfig(rest_periods=rest_periods)
    graph = connected_gnp(nodes, 6 / nodes, random.Random(seed))
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
    noticed = max(_seconds_to_notice(config, seed + number) for number in range(_CUTS))
    return RestCost(
        rest_periods,
        len(said[Beacon]) * share,
        sum(said[Beacon]) * share,
        len(said[Sub]) * share,
        sum(said[Sub]) * share,
        noticed,
    )


def _seconds_to_notice(config: MeshConfig, seed: int) -> float:
    channel = GraphChannel(line(6))
    sim = Simulation(channel, config, seed=seed)
    sim.settle(_SETTLE)
    start = sim.now
    channel.cut(2, 3)
    sim.run_until(lambda: is_legitimate(sim.nodes, sim.now, 2), start + 1000)
    return sim.now - start


def describe_rest(costs: Iterable[RestCost]) -> str:
    """A table in Markdown."""
    lines = [
        "| beacons at rest | beacons a node an hour | SUBs a node an hour | a cut is noticed in |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| every {c.rest_periods} s | {c.beacons:,.0f}, {c.beacon_octets:,.0f} octets "
        f"| {c.subs:,.0f}, {c.sub_octets:,.0f} octets | {c.noticed_s:.0f} s |"
        for c in costs
    ]
    return "\n".join(lines)

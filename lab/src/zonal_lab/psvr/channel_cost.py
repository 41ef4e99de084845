"""What channels cost a mesh: state in memory, and octets of beacons and SUBs, by their number."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, NamedTuple

from zonal.mesh import WIRE, Beacon, GraphChannel, Psvr, Simulation, Sub, connected_gnp

if TYPE_CHECKING:
    from collections.abc import Iterable

_SETTLE = 30  # periods until the ring stands and every SUB was heard
_LEASES = 2
_SPREAD = 7919  # between channels, so that they are as long as the hashes of topics


class ChannelCost(NamedTuple):
    """Means over the nodes of one mesh; traffic is what a node sends in a lease at rest."""

    channels: int
    rows: float
    state_kib: float
    beacons: float
    beacon_octets: float
    subs: float
    sub_octets: float


def channel_cost(nodes: int, channels: int, seed: int = 1) -> ChannelCost:
    """Measure one mesh on perfect links, with a subscriber for each channel."""
    rng = random.Random(seed)
    sim = Simulation(GraphChannel(connected_gnp(nodes, 6 / nodes, rng)), seed=seed)
    for number in range(channels):
        sim.subscribe(number % nodes, 2**32 - 1 - _SPREAD * number)
    sim.settle(_SETTLE)
    sim.log = []
    lease = sim.config.lease(2 * (nodes - 1))
    sim.run(sim.now + _LEASES * lease)
    said: dict[type, list[int]] = {Beacon: [], Sub: []}
    for _, _, _, packet in sim.log:
        said[type(packet)].append(len(WIRE.encode(packet)))
    share = 1 / (nodes * _LEASES)
    layers = [n.routing for n in sim.nodes.values() if isinstance(n.routing, Psvr)]
    return ChannelCost(
        channels,
        sum(len(rows) for layer in layers for rows in layer.table.rows.values()) / nodes,
        sum(map(_octets_of_state, layers)) / nodes / 1024,
        len(said[Beacon]) * share,
        sum(said[Beacon]) * share,
        len(said[Sub]) * share,
        sum(said[Sub]) * share,
    )


def _octets_of_state(layer: Psvr) -> int:
    """The routing table as Python holds it: dictionary, lists, rows and their numbers."""
    rows = layer.table.rows
    size = sys.getsizeof(rows)
    stamps: set[int] = set()
    for channel, line in rows.items():
        size += sys.getsizeof(channel) + sys.getsizeof(line)
        for row in line:
            size += sys.getsizeof(row) + sys.getsizeof(row.following)
            stamps.add(id(row.stamp))
    return size + 24 * len(stamps)


def describe(costs: Iterable[ChannelCost]) -> str:
    """A table in Markdown."""
    lines = [
        "| channels in the mesh | rows a node | state a node | beacons a lease | SUBs a lease |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {c.channels:,} | {c.rows:,.0f} | {c.state_kib:,.0f} KiB "
        f"| {c.beacons:.1f}, {c.beacon_octets:,.0f} octets "
        f"| {c.subs:.1f}, {c.sub_octets:,.0f} octets |"
        for c in costs
    ]
    return "\n".join(lines)

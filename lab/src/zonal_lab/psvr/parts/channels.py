"""What channels cost a mesh: state in memory, and octets of beacons and SUBs, by their number."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING

from zonal.mesh import WIRE, Beacon, GraphChannel, Psvr, Simulation, Sub, connected_gnp
from zonal_lab.experiment import table
from zonal_lab.psvr.parts.part import Part, Row, product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from zonal_lab.psvr.plan import PsvrPlan, Recordings

_SETTLE = 30  # periods until the ring stands and every SUB was heard
_LEASES = 2
_SPREAD = 7919  # between channels, so that they are as long as the hashes of topics


def _tasks(plan: PsvrPlan, data: Recordings, n: int) -> list[Row]:
    del data, n
    nodes, numbers = (8, (8, 80)) if plan.quick else (60, (60, 600, 5000))
    return product(plan.seed, 1, n=(nodes,), channels=numbers)


def channel_cost(task: Row) -> Row:
    """One mesh on perfect links, with a subscriber for each channel; means over its nodes.

    Traffic is what a node sends in a lease at rest.
    """
    nodes, seed = task["n"], task["seed"]
    rng = random.Random(seed)
    sim = Simulation(GraphChannel(connected_gnp(nodes, min(6 / nodes, 1.0), rng)), seed=seed)
    for number in range(task["channels"]):
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
    return task | {
        "rows": sum(len(rows) for layer in layers for rows in layer.table.rows.values()) / nodes,
        "state_octets": sum(map(_octets_of_state, layers)) / nodes,
        "lease_s": lease,
        "beacons": len(said[Beacon]) * share,
        "beacon_octets": sum(said[Beacon]) * share,
        "subs": len(said[Sub]) * share,
        "sub_octets": sum(said[Sub]) * share,
    }


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


def _section(rows: Sequence[Row], picture: Path) -> Iterator[str]:
    del picture
    few, many = (end(rows, key=lambda row: row["channels"]) for end in (min, max))
    more = many["channels"] - few["channels"]
    yield (
        f"{rows[0]['n']} nodes on a random graph with six links each on average, perfect links, a "
        "subscriber for each channel, the network at rest. Means over the nodes; a lease is "
        f"{rows[0]['lease_s']:g} s. State is what Python's objects of the routing table take. "
        f"A channel costs a node {(many['state_octets'] - few['state_octets']) / more:.0f} octets "
        f"of memory and {(many['sub_octets'] - few['sub_octets']) / more:.1f} octets of SUBs a "
        "lease; beacons know nothing of channels."
    )
    yield ""
    yield from table(
        (
            *("channels in the mesh", "rows a node", "state a node"),
            *("beacons a lease, octets", "SUBs a lease, octets"),
        ),
        (
            (
                f"{row['channels']:,}",
                f"{row['rows']:,.0f}",
                f"{row['state_octets'] / 1024:,.0f} KiB",
                f"{row['beacons']:.1f}, {row['beacon_octets']:,.0f}",
                f"{row['subs']:.1f}, {row['sub_octets']:,.0f}",
            )
            for row in sorted(rows, key=lambda row: row["channels"])
        ),
        right=0,
    )


CHANNELS = Part("channels", "What channels cost", _tasks, channel_cost, _section, draws=False)

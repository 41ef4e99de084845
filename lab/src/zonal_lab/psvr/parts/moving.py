"""Moving nodes: delivery against speed, simulated and in real processes."""

from __future__ import annotations

import random
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from zonal.mesh import MeshConfig, Simulation, components, graph_of
from zonal_lab.experiment import new_figure, panels, save_figure, table
from zonal_lab.psvr.channels import (
    MovingChannel,
    link_ratios,
    random_waypoints,
    recorded_ways,
)
from zonal_lab.psvr.parts.part import CHANNEL, OURS, THEIRS, Part, Row, grouped, share_of
from zonal_lab.psvr.processes.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from zonal_lab.psvr.channels import Way
    from zonal_lab.psvr.plan import PsvrPlan, Recordings

_SPEEDS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0)
_LAST_S = 20.0  # for what is still under way
_EVERY_S = 2.0  # between two publications
_PERIOD_S = 0.5  # of the beacons of processes
_WALK = "random waypoints"


def _tasks(plan: PsvrPlan, data: Recordings, n: int) -> list[Row]:
    del n
    common = {
        "n": 12 if plan.quick else 30,
        "side_m": 400.0 if plan.quick else 800.0,
        "reach_m": 250.0,
        "warm": 30.0 if plan.quick else 150.0,
        "publications": 10 if plan.quick else 100,
        "folder": str(data.journeys or ""),
    }
    kinds = [(_WALK, speed) for speed in (_SPEEDS[1:3] if plan.quick else _SPEEDS)]
    if data.journeys is not None:
        kinds.append(("recorded journeys", 0.0))
    return [
        common | {"kind": kind, "speed": speed, "seed": plan.seed + number}
        for kind, speed in kinds
        for number in range(1 if plan.quick else 3)
    ]


def _ways(task: Row, seconds: float) -> dict[int, Way]:
    rng = random.Random(task["seed"])
    if task["kind"] == _WALK:
        return random_waypoints(task["n"], task["side_m"], task["speed"], seconds, rng)
    return recorded_ways(Path(task["folder"]), task["n"], task["side_m"], seconds, rng)


def moving_delivery(task: Row) -> Row:
    """A simulated mesh of moving nodes, with acknowledgement."""
    ways = _ways(task, task["warm"] + _EVERY_S * task["publications"])
    channel = MovingChannel(ways, task["reach_m"], seed=task["seed"])
    sim = Simulation(channel, MeshConfig(write_back=6, acknowledged=True), seed=task["seed"])
    rng = random.Random(task["seed"])
    names = sorted(ways)
    subscribers = set(rng.sample(names, max(len(names) // 3, 2)))
    for node in subscribers:
        sim.subscribe(node, CHANNEL)
    sim.run(task["warm"])
    records, degree = [], []
    for _ in range(task["publications"]):
        graph = channel.graph(sim.now)
        part = {node: part for part in components(graph) for node in part}
        record = sim.publish(rng.choice(names), CHANNEL)
        degree.append(mean(map(len, graph.values())))
        records.append((record, (subscribers - {record.origin}) & part[record.origin]))
        sim.run(sim.now + _EVERY_S)
    sim.run(sim.now + _LAST_S)
    delays = [a.time - r.time for r, near in records for a in r.deliveries if a.node in near]
    return _row(
        task,
        ways,
        possible=sum(len(near) for _, near in records),
        got=len(delays),
        late=sum(delay > 2 for delay in delays),
        hops=sum(node.counters.forwarded for node in sim.nodes.values()),
        degree=mean(degree),
    )


def _row(task: Row, ways: dict[int, Way], **found: float) -> Row:
    return {k: v for k, v in task.items() if k != "folder"} | {
        "moved": mean(way.speed_m_s for way in ways.values()),
        **found,
    }


def _process_tasks(plan: PsvrPlan, data: Recordings, n: int) -> list[Row]:
    return [
        task | {"n": 10, "side_m": 400.0, "warm": 20.0, "publications": 10 if plan.quick else 40}
        for task in _tasks(plan, data, n)
        if task["seed"] == plan.seed and task["speed"] in {0.0, 2.0, 10.0}
    ]


def fleet_on_the_move(task: Row) -> Row:
    """Real processes whose neighbour tables and losses follow their ways."""
    ways = _ways(task, task["warm"] + _EVERY_S * task["publications"])
    config = MeshConfig(
        period=_PERIOD_S, lease_floor=5 * _PERIOD_S, write_back=6, acknowledged=True
    )
    everyone = {(a, b): 0.0 for a in ways for b in ways if a != b}
    rng = random.Random(task["seed"])
    with Fleet(everyone, config, seed=task["seed"]) as fleet:
        subscribers = set(rng.sample(fleet.names, max(task["n"] // 3, 2)))
        now = _go(fleet, ways, task["reach_m"], 0.0, 0.0)
        for node in subscribers:
            fleet.subscribe(node, CHANNEL)
        now = _go(fleet, ways, task["reach_m"], now, task["warm"])
        near: dict[int, list[set[int]]] = {name: [] for name in fleet.names}
        degree = []
        for _ in range(task["publications"]):
            links = [p for p, loss in fleet.losses.items() if p[0] < p[1] and loss <= 0.5]
            parts = components(graph_of(links, fleet.names))
            origin = rng.choice(fleet.names)
            (part,) = (each for each in parts if origin in each)
            near[origin].append((subscribers - {origin}) & part)
            degree.append(2 * len(links) / len(fleet.names))
            fleet.publish(origin, CHANNEL, "reading")
            now = _go(fleet, ways, task["reach_m"], now, now + _EVERY_S)
        now = _go(fleet, ways, task["reach_m"], now, now + _LAST_S / 2)
        possible = sum(len(each) for some in near.values() for each in some)
        delays = [
            at - fleet.published[key]
            for key in sorted(fleet.published)  # an origin's in the order of its publications
            for wanted in (near[key[0]].pop(0),)
            for node, at in fleet.delivered.get(key, {}).items()
            if node in wanted
        ]
        hops = sum(report["forwarded"] for report in fleet.ask().values())
        late = sum(delay > 2 for delay in delays)
        return _row(
            task, ways, possible=possible, got=len(delays), late=late, hops=hops,
            degree=mean(degree),
        )  # fmt: skip


def _go(fleet: Fleet, ways: dict[int, Way], reach_m: float, now: float, until: float) -> float:
    """Let time pass, telling everyone twice a second who is in reach; the time that it is."""
    while True:
        ratios = link_ratios(ways, reach_m, now)
        fleet.losses = {pair: 1 - ratio for pair, ratio in ratios.items()}
        fleet.tell_peers()
        if now >= until:
            return now
        fleet.run(_PERIOD_S)
        now += _PERIOD_S


def _section(rows: Sequence[Row], picture: Path) -> Iterator[str]:
    figure = new_figure(9, 4.6)
    (axes,) = panels(figure, 1, 1)
    for (kind,), part in grouped(rows, "kind").items():
        by_speed = grouped(part, "speed")
        axes.plot(
            [mean(r["moved"] for r in group) for group in by_speed.values()],
            [share_of(group, "got", "possible") for group in by_speed.values()],
            marker="o",
            linestyle="-" if kind == _WALK else "none",
            color=OURS if kind == _WALK else THEIRS,
            label=kind,
        )
    axes.set_ylim(0, 102)
    axes.set_xlabel("mean speed in m/s")
    axes.set_ylabel("publications delivered in %")
    axes.legend()
    save_figure(figure, picture)
    first = rows[0]
    yield (
        f"{first['n']} nodes in a square of {first['side_m']:g} m, reach {first['reach_m']:g} m "
        "(packets get lost in its last fifth), with acknowledgement; a third subscribed, a "
        f"publication every {_EVERY_S:g} s, {first['publications']} a network. *Possible*: "
        "subscribers that links which deliver half of the packets connected with the publisher "
        "when it published. *Late*: after more than 2 s."
    )
    yield ""
    yield from table(
        (
            *("way", "mean speed", "networks", "links a node"),
            *("possible", "delivered", "late", "messages a publication"),
        ),
        (
            (
                kind,
                f"{mean(r['moved'] for r in part):.1f} m/s",
                str(len(part)),
                f"{mean(r['degree'] for r in part):.1f}",
                f"{sum(r['possible'] for r in part):,}",
                f"{share_of(part, 'got', 'possible'):.1f} %",
                f"{share_of(part, 'late', 'got'):.1f} %",
                f"{sum(r['hops'] for r in part) / sum(r['publications'] for r in part):.0f}",
            )
            for (kind, _), part in grouped(rows, "kind", "speed").items()
        ),
        right=1,
    )


MOVING = Part("moving", "Moving nodes, simulated", _tasks, moving_delivery, _section)
MOVING_PROCESSES = Part(
    "moving-processes",
    "Moving nodes, real processes",
    _process_tasks,
    fleet_on_the_move,
    _section,
    spreads=False,
)

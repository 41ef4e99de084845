"""The computations behind the figures: one small task in, one row out, no state between.

Tasks and rows are plain dictionaries of numbers, because they travel to Spark workers and into
CSV files as they are.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

from zonal.errors import MeshError
from zonal.mesh import (
    GraphChannel,
    MeshConfig,
    Psvr,
    Pub,
    Simulation,
    components,
    connected_gnp,
    is_legitimate,
    lay_out,
    used_graph,
)
from zonal_lab.psvr.channels import RadioChannel, TraceChannel, read_k7
from zonal_lab.psvr.corruption import Corruption
from zonal_lab.psvr.peers import (
    OlderScheme,
    PsvrScheme,
    Scheme,
    Shen,
    SourceTrees,
    TreeScheme,
    bfs_tree,
    centre,
    shen_scheme,
)
from zonal_lab.psvr.plane import geometric, random_points

if TYPE_CHECKING:
    from zonal.mesh import Graph, Layout, PublicationRecord
    from zonal_lab.psvr.channels import LinkSeries
    from zonal_lab.psvr.sweep import Row

CHANNEL = 1
"""What everybody publishes and subscribes to."""


def message_gain(task: Row) -> Row:
    """Figure 7: messages of PSVR, [14], T_D and T_S for the same publications on one G(n, p).

    `psvr` has the shortcuts of the paper's figure 4 and any node as its root, `wide` all the
    shortcuts there are, `hub` moreover a root with many links. `td` takes of several possible
    parents the one first reached, `td_any` any.
    """
    rng = random.Random(task["seed"])
    graph = connected_gnp(task["n"], task["p"], rng)
    names = sorted(graph)
    subscribers = rng.sample(names, task["s"])
    publishers = rng.sample(names, min(task["publishers"], len(names)))
    layout = lay_out(bfs_tree(graph, min(graph)))
    best_linked = max(names, key=lambda node: (len(graph[node]), -node))
    hub = lay_out(bfs_tree(graph, best_linked))
    schemes: dict[str, Scheme] = {
        "psvr": PsvrScheme(graph, subscribers, layout),
        "wide": PsvrScheme(graph, subscribers, layout, wide=True),
        "hub": PsvrScheme(graph, subscribers, hub, wide=True),
        "older": OlderScheme(graph, subscribers, layout),
        "td": SourceTrees(graph, subscribers),
        "td_any": SourceTrees(graph, subscribers, random.Random(task["seed"])),
        "ts": TreeScheme(bfs_tree(graph, _central(graph, rng)), subscribers),
    }
    row = dict(task)
    for name, scheme in schemes.items():
        row[name] = sum(len(scheme.publish(node).messages) for node in publishers)
    return row


def _central(graph: Graph, rng: random.Random) -> int:
    """A central node; on large graphs the most central of a sample of well-linked nodes."""
    names = sorted(graph)
    if len(names) > 200:
        linked = sorted(names, key=lambda n: -len(graph[n]))[:15]
        names = linked + rng.sample(names, 15)
    return centre(graph, names)


def radio_delivery(task: Row) -> Row:
    """Figure 8: delivery of a running network over the radio model, with PSVR or with Shen."""
    rng = random.Random(task["seed"])
    points = random_points(task["n"], task["side"], rng)
    routing = Psvr if task["scheme"] == "psvr" else Shen
    config = MeshConfig(write_back=6)
    sim = Simulation(RadioChannel(points, seed=task["seed"]), config, routing=routing)
    names = sorted(sim.nodes)
    subscribers = set(rng.sample(names, task["s"]))
    for node in subscribers:
        sim.subscribe(node, CHANNEL)
    sim.run(task["warm"])
    records = _publish_at_random(sim, rng, task["publications"], 1.0)
    wanted = sum(len(subscribers - {r.origin}) for r in records)
    got = sum(len(r.deliveries) for r in records)
    degree = sum(len(node.links.used) for node in sim.nodes.values()) / len(names)
    parts = len({node.tree.root for node in sim.nodes.values()})
    return task | {
        "wanted": wanted, "got": got, "degree": degree, "parts": parts,
        "pubs": sim.sent.get(Pub, 0), "events": sim.events,
    }  # fmt: skip


def _publish_at_random(
    sim: Simulation, rng: random.Random, count: int, pause: float
) -> list[PublicationRecord]:
    records = []
    for _ in range(count):
        records.append(sim.publish(rng.choice(sorted(sim.nodes)), CHANNEL))
        sim.run(sim.now + pause)
    sim.run(sim.now + 3)
    return records


def settled_radio(task: Row) -> tuple[Graph, Layout] | None:
    """The links and the tree that a radio network has settled on (its largest part)."""
    rng = random.Random(task["seed"])
    points = random_points(task["n"], task["side"], rng)
    config = MeshConfig(max_links=task.get("max_links", MeshConfig().max_links))
    sim = Simulation(RadioChannel(points, seed=task["seed"]), config)
    sim.run(task["warm"])
    return _snapshot(sim)


def _snapshot(sim: Simulation) -> tuple[Graph, Layout] | None:
    graph = used_graph(sim.nodes)
    part = max(components(graph), key=len)
    tree = {n: sim.nodes[n].tree.parent for n in part}
    roots = [n for n, parent in tree.items() if n == parent]
    if len(part) < 2 or len(roots) != 1 or any(p not in part for p in tree.values()):
        return None  # caught in the middle of a change
    good = sim.config.shortcut_quality
    kept = {
        n: tuple(
            o
            for o in graph[n]
            if o in part
            and (tree[n] == o or tree[o] == n or sim.nodes[n].links.used[o].quality >= good)
        )
        for n in sorted(part)
    }
    return kept, lay_out(tree)


def hop_distances(task: Row) -> Row:
    """Figure 9: hops from every node to a single subscriber, PSVR beside Shen, same tree."""
    found = settled_radio(task)
    row = task | {"psvr": {}, "shen": {}, "wide": {}, "pairs": 0}
    if found is None:
        return row
    graph, layout = found
    rng = random.Random(task["seed"] + 1)
    for subscriber in rng.sample(sorted(graph), min(task["subscribers"], len(graph))):
        schemes: dict[str, Scheme] = {
            "psvr": PsvrScheme(graph, [subscriber], layout),
            "wide": PsvrScheme(graph, [subscriber], layout, wide=True),
            "shen": shen_scheme(graph, [subscriber], layout),
        }
        for publisher in graph:
            if publisher == subscriber:
                continue
            row["pairs"] += 1
            for name, scheme in schemes.items():
                hops = scheme.publish(publisher).hops[subscriber]
                row[name][hops] = row[name].get(hops, 0) + 1
    return row


def density_gain(task: Row) -> Row:
    """Figure 10: messages against Shen by communication range, on points in the plane."""
    rng = random.Random(task["seed"])
    if task["model"] == "radio":
        found = settled_radio(task)
        if found is None:
            return task | {"psvr": 0, "shen": 0, "wide": 0, "degree": 0.0}
        graph, layout = found
    else:
        graph = _connected_points(task["n"], task["range"], rng)
        layout = lay_out(bfs_tree(graph, min(graph)))
    names = sorted(graph)
    sums = {"psvr": 0, "shen": 0, "wide": 0}
    for _ in range(task["draws"]):
        subscribers = rng.sample(names, min(task["s"], len(names)))
        publisher = rng.choice(names)
        sums["psvr"] += len(PsvrScheme(graph, subscribers, layout).publish(publisher).messages)
        wide = PsvrScheme(graph, subscribers, layout, wide=True)
        sums["wide"] += len(wide.publish(publisher).messages)
        sums["shen"] += len(shen_scheme(graph, subscribers, layout).publish(publisher).messages)
    degree = sum(len(graph[n]) for n in names) / len(names)
    return task | sums | {"degree": degree}


def _connected_points(nodes: int, reach: float, rng: random.Random) -> Graph:
    """Points in the unit square; of those that are not connected, the largest part."""
    graph: Graph = {}
    for _ in range(50):
        graph = geometric(random_points(nodes, 1.0, rng), reach)
        part = max(components(graph), key=len)
        graph = {n: graph[n] for n in sorted(part)}
        if len(part) == nodes:
            break
    return graph


def trace_run(task: Row) -> list[Row]:
    """Figure 11, right: a long run on the recorded trace; one row per window of time."""
    whole = read_k7(Path(task["trace"]), channel=task["channel"] or None)
    chosen = connected_nodes(read_k7(Path(task["trace"])), task["n"], task["start"])
    series = {pair: known for pair, known in whole.items() if chosen.issuperset(pair)}
    config = MeshConfig(write_back=8, acknowledged=task["acknowledged"])
    sim = Simulation(TraceChannel(series, seed=task["seed"], start=task["start"]), config)
    rng = random.Random(task["seed"])
    names = sorted(sim.nodes)
    subscribers = set(rng.sample(names, max(len(names) // 3, 2)))
    for node in subscribers:
        sim.subscribe(node, CHANNEL)
    sim.run(task["warm"])
    rows, began = [], sim.now
    while sim.now < began + task["seconds"]:
        records = []
        for _ in range(int(task["window"] / task["every"])):
            records.append(sim.publish(rng.choice(names), CHANNEL))
            sim.run(sim.now + task["every"])
        parts = _parts(sim)
        rows.append(
            task
            | {
                "minutes": (sim.now - began) / 60,
                "wanted": sum(len(subscribers - {r.origin}) for r in records),
                "possible": sum(len((subscribers - {r.origin}) & parts[r.origin]) for r in records),
                "got": sum(len(r.deliveries) for r in records),
                "bound": _bound(sim, subscribers, records),
                "events": sim.events,
            }
        )
    return rows


def _bound(sim: Simulation, subscribers: set[int], records: list[PublicationRecord]) -> float:
    """Deliveries to expect if every publication took the best way there is, without repetition."""
    channel = sim.channel
    assert isinstance(channel, TraceChannel)
    best = {origin: channel.best_ways(origin, sim.now) for origin in {r.origin for r in records}}
    return sum(best[r.origin].get(node, 0.0) for r in records for node in subscribers - {r.origin})


def _parts(sim: Simulation) -> dict[int, set[int]]:
    """Whom the trace itself connects each node with, however badly, at this time."""
    channel = sim.channel
    assert isinstance(channel, TraceChannel)
    parts = components(channel.links_above(0.1, sim.now))
    return {node: part for part in parts for node in part}


def connected_nodes(series: LinkSeries, n: int, at: float) -> set[int]:
    """So many nodes of a trace that hang together, found outwards from the first one."""
    graph = TraceChannel(series).links_above(0.25, at)
    whole = max(components(graph), key=len)
    order = list(bfs_tree(graph, min(whole)))
    if len(order) < n:
        raise MeshError(f"the trace connects only {len(order)} nodes, not {n}")
    return set(order[:n])


def recovery(task: Row) -> list[Row]:
    """Self-stabilization: corrupt whole node states, count rounds until legitimate again."""
    rng = random.Random(task["seed"])
    n = task["n"]
    graph = connected_gnp(n, min(1.0, max(4.0 / n, 0.06)), rng)
    most = max(len(around) for around in graph.values())
    config = MeshConfig(max_links=most, max_candidates=most + 4, max_depth=task["max_depth"])
    sim = Simulation(GraphChannel(graph), config, seed=task["seed"])
    for node in sim.nodes:
        sim.subscribe(node, *(c for c in (1, 2) if rng.random() < 0.3))
    rows = []
    _settle(sim, 400.0)
    corruption = Corruption(sorted(graph), rng)
    for _ in range(task["corruptions"]):
        count = 1 if rng.random() < 0.6 else rng.randrange(1, n + 1)
        for victim in rng.sample(sorted(graph), count):
            corruption.corrupt(sim.nodes[victim], sim.now)
        start = sim.now
        recovered = _settle(sim, 400.0)
        rounds = (sim.now - start) / config.period
        rows.append(task | {"victims": count, "rounds": rounds, "recovered": recovered})
    return rows


def _settle(sim: Simulation, limit: float) -> bool:
    return sim.run_until(lambda: is_legitimate(sim.nodes, sim.now, 1), sim.now + limit)

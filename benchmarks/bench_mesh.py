"""How fast the simulator runs, what PSVR costs, what recovery takes; one JSON line last."""

import argparse
import json
import os
import random
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from zonal.mesh import (
    WIRE,
    Beacon,
    GraphChannel,
    MeshConfig,
    Simulation,
    connected_gnp,
    is_legitimate,
    lay_out,
)
from zonal_lab.experiment import Results, run_trial
from zonal_lab.psvr import (
    EXPERIMENT,
    Corruption,
    OlderScheme,
    PsvrScheme,
    SourceTrees,
    TraceChannel,
    bfs_tree,
    read_k7,
    shen_scheme,
)

FIGURES = "messages,weak-links,moving,joining,rest,channels"
"""The parts of the evaluation that are run here, at small size."""
DATA = os.environ.get("ZONAL_DATA")
"""The folder of recorded data; without it what needs a recording is left out."""


def simulator(nodes: int) -> dict[str, float]:
    """Events per second of processor time on one core: forming, and steady."""
    rng = random.Random(1)
    graph = connected_gnp(nodes, 8 / nodes, rng)
    most = max(len(around) for around in graph.values())
    sim = Simulation(GraphChannel(graph), MeshConfig(max_links=most, max_candidates=most))
    for node in range(0, nodes, 5):
        sim.subscribe(node, 1)
    began = time.process_time()
    sim.settle(20)
    forming = sim.events / (time.process_time() - began)
    before, began = sim.events, time.process_time()
    for _ in range(20):
        sim.publish(rng.randrange(nodes), 1)
        sim.settle(1)
    steady = (sim.events - before) / (time.process_time() - began)
    print(f"simulator, {nodes:5d} nodes: {forming:9,.0f} events/s forming, {steady:9,.0f} steady")
    return {"forming": round(forming), "steady": round(steady)}


def overhead() -> dict[str, float]:
    """Messages against T_D for n = 100, s = 10, over four densities."""
    rng, sums = random.Random(2), {"psvr": 0, "wide": 0, "older": 0, "shen": 0, "td": 0}
    for p in (0.05, 0.1, 0.2, 0.4):
        for _ in range(10):
            graph = connected_gnp(100, p, rng)
            subscribers = rng.sample(sorted(graph), 10)
            layout = lay_out(bfs_tree(graph, 0))
            schemes = {
                "psvr": PsvrScheme(graph, subscribers, layout),
                "wide": PsvrScheme(graph, subscribers, layout, wide=True),
                "older": OlderScheme(graph, subscribers, layout),
                "shen": shen_scheme(graph, subscribers, layout),
                "td": SourceTrees(graph, subscribers),
            }
            for node in rng.sample(sorted(graph), 10):
                for name, scheme in schemes.items():
                    sums[name] += len(scheme.publish(node).messages)
    gains = {n: round(100 * sums[n] / sums["td"] - 100, 1) for n in sums if n != "td"}
    print(f"messages against T_D, n = 100, s = 10: {gains} %")
    return gains


def recovery(corruptions: int = 150) -> dict[str, float]:
    """Rounds until legitimate after corrupting whole nodes, n = 20."""
    rng = random.Random(3)
    graph = connected_gnp(20, 0.2, rng)
    sim = Simulation(GraphChannel(graph), MeshConfig(max_links=12, max_candidates=16, max_depth=32))
    for node in range(0, 20, 3):
        sim.subscribe(node, 1)
    whole = lambda: is_legitimate(sim.nodes, sim.now, 1)  # noqa: E731
    assert sim.run_until(whole, 300)
    rounds = []
    for _ in range(corruptions):
        corruption = Corruption(sorted(graph), rng)
        for victim in rng.sample(sorted(graph), rng.randrange(1, 21)):
            corruption.corrupt(sim.nodes[victim], sim.now)
        start = sim.now
        assert sim.run_until(whole, start + 300)
        rounds.append(sim.now - start)
    found = {"median": statistics.median(rounds), "worst": max(rounds)}
    print(f"recovery, n = 20, {corruptions} corruptions: median {found['median']:.0f} rounds, "
          f"worst {found['worst']:.0f}")  # fmt: skip
    return found


def grenoble() -> dict[str, float] | None:
    """Delivery on the recorded trace, without and with acknowledgement."""
    if DATA is None:
        print("ZONAL_DATA names no folder: delivery on recorded links is left out")
        return None
    series, found = read_k7(Path(DATA) / "iotlab_k7/grenoble.k7.gz"), {}
    for acknowledged in (False, True):
        config = MeshConfig(write_back=8, acknowledged=acknowledged)
        sim = Simulation(TraceChannel(series, seed=1, start=9200.0), config, seed=3)
        rng = random.Random(5)
        subscribers = set(rng.sample(sorted(sim.nodes), 16))
        for node in subscribers:
            sim.subscribe(node, 1)
        sim.run(400)  # until link estimates have come to rest
        records = []
        for _ in range(100):
            records.append(sim.publish(rng.choice(sorted(sim.nodes)), 1))
            sim.settle(2)
        sim.settle(5)
        wanted = sum(len(subscribers - {r.origin}) for r in records)
        share = sum(len(r.deliveries) for r in records) / wanted
        found["acknowledged" if acknowledged else "plain"] = round(100 * share, 1)
    print(f"Grenoble trace, 50 nodes, delivery in %: {found}")
    return found


def packets() -> dict[str, float]:
    """Microseconds to put a usual beacon into bytes and back."""
    graph = connected_gnp(50, 0.15, random.Random(4))
    sim = Simulation(GraphChannel(graph), MeshConfig(max_links=16))
    sim.settle(20)
    beacon = Beacon(7, 1, sim.nodes[7].view)
    data = WIRE.encode(beacon)
    began = time.process_time()
    for _ in range(5000):
        WIRE.encode(beacon)
    middle = time.process_time()
    for _ in range(5000):
        WIRE.decode(data)
    end = time.process_time()
    found = {
        "octets": len(data),
        "encode_us": round((middle - began) / 5000e-6, 1),
        "decode_us": round((end - middle) / 5000e-6, 1),
    }
    print(f"a beacon: {found}")
    return found


def figures() -> None:
    """Parts of the evaluation on small networks: what their page says."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        results = Results(folder)
        run_trial("psvr", EXPERIMENT.trial(quick=True, parts=FIGURES), results)
        print("\n".join(line for line in EXPERIMENT.page(results, folder, "psvr") if line))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smallest simulator, no figures")
    if parser.parse_args().quick:
        print(json.dumps({"simulator": {"50": simulator(50)}, "beacon": packets()}))
        return
    result = {
        "simulator": {str(n): simulator(n) for n in (50, 500, 2000)},
        "overhead_percent": overhead(),
        "recovery_rounds": recovery(),
        "grenoble_percent": grenoble(),
        "beacon": packets(),
    }
    figures()
    print(json.dumps(result))


if __name__ == "__main__":
    main()

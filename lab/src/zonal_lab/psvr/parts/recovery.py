"""Recovery: whole node states are corrupted, and rounds are counted until all is legitimate."""

from __future__ import annotations

import math
import random
from statistics import median, quantiles
from typing import TYPE_CHECKING

from zonal.mesh import GraphChannel, MeshConfig, Simulation, connected_gnp, is_legitimate
from zonal_lab.experiment import OURS as OUR_FIGURE
from zonal_lab.experiment import Claim, Unit, new_figure, panels, save_figure, table
from zonal_lab.psvr.corruption import Corruption
from zonal_lab.psvr.parts.part import Part, Row, grouped, product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from zonal_lab.experiment import Draw
    from zonal_lab.psvr.plan import PsvrPlan, Recordings

_MOST_ROUNDS = 100
_NETWORKS = {5: 350, 10: 450, 20: 170, 35: 20, 50: 10}


def _tasks(plan: PsvrPlan, data: Recordings, n: int) -> list[Row]:
    del data
    repeat = 10 if plan.quick else _NETWORKS[n]
    return product(plan.seed + 1000 * n, repeat, n=(n,), corruptions=(10,), max_depth=(32,))


def recovery(task: Row) -> list[Row]:
    """Corrupt whole node states, count rounds until legitimate again."""
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


def _claims(rows: Sequence[Row]) -> Iterator[Claim]:
    def failed(_: Draw) -> float:
        if not rows:
            raise LookupError("nothing was corrupted")
        return float(sum(not row["recovered"] for row in rows))

    def worst(_: Draw) -> float:
        return failed(_) * math.inf if failed(_) else max(row["rounds"] for row in rows)

    yield Claim(
        OUR_FIGURE, "mesh, recovery",
        "no corrupted state from which the network does not recover", "",
        Unit.COUNT, failed, most=0, exact=True,
    )  # fmt: skip
    yield Claim(
        OUR_FIGURE, "mesh, recovery", f"the longest recovery within {_MOST_ROUNDS} rounds", "",
        Unit.COUNT, worst, most=_MOST_ROUNDS, exact=True,
    )  # fmt: skip


def _section(rows: Sequence[Row], picture: Path) -> Iterator[str]:
    by_n = grouped(rows, "n")
    figure = new_figure(9, 4.6)
    (axes,) = panels(figure, 1, 1)
    axes.boxplot(
        [[r["rounds"] for r in group] for group in by_n.values()],
        tick_labels=[str(n) for (n,) in by_n],
        whis=(0, 100),
    )
    axes.set_xlabel("nodes n (whiskers: best and worst)")
    axes.set_ylabel("rounds until legitimate")
    save_figure(figure, picture)
    yield (
        "A round is a beacon period; leases run five rounds, and the write-back of a wrong next "
        "subscriber takes three leases. Corruption leaves alone a node's identifier, its "
        f"configuration and what the application subscribed to; `max_depth={rows[0]['max_depth']}`."
    )
    yield ""
    yield from table(
        ("n", "corruptions", "median, rounds", "99 %", "worst"),
        ((str(n), f"{len(group):,}", *_spread(group)) for (n,), group in by_n.items()),
        right=0,
    )


def _spread(group: Sequence[Row]) -> Iterator[str]:
    rounds = [r["rounds"] for r in group]
    high = quantiles(rounds, n=100)[98] if len(rounds) > 1 else rounds[0]
    return (f"{value:.0f}" for value in (median(rounds), high, max(rounds)))


RECOVERY = Part(
    "recovery",
    "Recovery from corrupted states",
    _tasks,
    recovery,
    _section,
    _claims,
    sizes=(10, 5, 20, 35, 50),
)

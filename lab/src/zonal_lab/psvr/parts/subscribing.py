"""How long a new subscriber waits for its first publication, by the size of the network."""

from __future__ import annotations

import random
from statistics import fmean
from typing import TYPE_CHECKING

from zonal.mesh import GraphChannel, MeshConfig, Simulation, connected_gnp, is_legitimate
from zonal_lab.experiment import Claim, Unit, new_figure, panels, save_figure, table
from zonal_lab.psvr.parts.part import CHANNEL, OURS, WORK, Part, Row, grouped, product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from zonal_lab.experiment import Draw
    from zonal_lab.psvr.plan import PsvrPlan, Recordings

SIZES = (10, 20, 40, 80)
_LIMIT = 400.0


def _tasks(plan: PsvrPlan, data: Recordings, n: int) -> list[Row]:
    del data
    return product(plan.seed + 100 * n, 3 if plan.quick else 12, n=(n,))


def first_publication(task: Row) -> Row:
    """Rounds from a node's first SUB on a settled network to the first publication it gets."""
    rng = random.Random(task["seed"])
    n = task["n"]
    graph = connected_gnp(n, min(1.0, 5.0 / n), rng)
    most = max(len(around) for around in graph.values())
    config = MeshConfig(max_links=most, max_candidates=most + 4)
    sim = Simulation(GraphChannel(graph), config, seed=task["seed"])
    publisher, *others = rng.sample(sorted(graph), 4)
    for each in others[1:]:
        sim.subscribe(each, CHANNEL)
    sim.run_until(lambda: is_legitimate(sim.nodes, sim.now, 1), _LIMIT)
    sim.settle(20)  # tables are trusted again
    newcomer, start, records = others[0], sim.now, []
    sim.subscribe(newcomer, CHANNEL)

    def reached() -> bool:
        records.append(sim.publish(publisher, CHANNEL))
        return any(each.node == newcomer for record in records for each in record.deliveries)

    found = sim.run_until(reached, start + _LIMIT)
    return task | {"rounds": (sim.now - start) / config.period, "reached": found}


def _claims(rows: Sequence[Row]) -> Iterator[Claim]:
    sizes = sorted({row["n"] for row in rows})

    def grows(draw: Draw) -> float:
        """Rounds for each node in the largest network over those in the smallest."""
        if len(sizes) < 2 or not all(row["reached"] for row in rows):
            raise LookupError("not reached, or of one size only")
        least, most = (
            draw([row["rounds"] for row in rows if row["n"] == n]) / n
            for n in (sizes[0], sizes[-1])
        )
        return float(most / least)

    yield Claim(
        WORK, "5.3", "after its first SUB a new subscriber gets publications within O(n) rounds: "
        "no more rounds for each node in the largest network than in the smallest", "O(n)",
        Unit.TIMES, grows, most=1,
    )  # fmt: skip


def _section(rows: Sequence[Row], picture: Path) -> Iterator[str]:
    by_n = {n: [row["rounds"] for row in group] for (n,), group in grouped(rows, "n").items()}
    figure = new_figure(9, 4.6)
    (axes,) = panels(figure, 1, 1)
    axes.plot(list(by_n), [fmean(each) for each in by_n.values()], marker="o", color=OURS)
    axes.plot(list(by_n), [max(each) for each in by_n.values()], "_", color=OURS)
    axes.set_xlabel("nodes n (dashes: the longest)")
    axes.set_ylabel("rounds to the first publication")
    save_figure(figure, picture)
    yield (
        "A settled network on perfect links with two subscribers; another node subscribes, and "
        "the publisher publishes every half round until one arrives there."
    )
    yield ""
    yield from table(
        ("n", "networks", "mean rounds", "longest", "rounds a node"),
        (
            (
                str(n),
                str(len(each)),
                f"{fmean(each):.1f}",
                f"{max(each):.1f}",
                f"{fmean(each) / n:.2f}",
            )
            for n, each in by_n.items()
        ),
        right=0,
    )


SUBSCRIBING = Part(
    "subscribing",
    "A new subscriber",
    _tasks,
    first_publication,
    _section,
    _claims,
    sizes=SIZES,
)

"""Joining: a node is switched on beside a ring of n, and rounds and packets are counted."""

from __future__ import annotations

import random
from statistics import mean
from typing import TYPE_CHECKING

from zonal.mesh import GraphChannel, MeshConfig, Simulation, connected_gnp, is_legitimate
from zonal_lab.experiment import Claim, Unit, new_figure, panels, save_figure, table
from zonal_lab.psvr.parts.part import CHANNEL, GREY, OURS, WORK, Part, Row, grouped, product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from zonal_lab.experiment import Draw
    from zonal_lab.psvr.plan import PsvrPlan, Recordings

_LIMIT_S = 600.0


def _tasks(plan: PsvrPlan, data: Recordings, n: int) -> list[Row]:
    del data, n
    sizes, repeat = ((8, 16), 2) if plan.quick else ((10, 20, 50, 100, 200, 500), 5)
    return product(13 * plan.seed, repeat, n=sizes)


def joining(task: Row) -> Row:
    """Rounds until all is legitimate with the new node, and packets beyond those of rest."""
    n, rng = task["n"], random.Random(task["seed"])
    graph = connected_gnp(n + 1, min(6 / n, 1.0), rng)
    most = max(len(around) for around in graph.values())
    config = MeshConfig(max_links=most, max_candidates=most + 4)
    sim = Simulation(GraphChannel(graph), config, seed=task["seed"])
    newcomer = _spare(graph, rng)
    sim.remove(newcomer)
    for node in sorted(sim.nodes)[:: max(n // 10, 1)]:
        sim.subscribe(node, CHANNEL)
    whole = lambda: is_legitimate(sim.nodes, sim.now, 1)  # noqa: E731
    stood = sim.run_until(whole, _LIMIT_S)
    sim.settle(10)
    before, began = sum(sim.sent.values()), sim.now
    sim.settle(20)
    at_rest = (sum(sim.sent.values()) - before) / (sim.now - began)
    before, began = sum(sim.sent.values()), sim.now
    sim.add(newcomer)
    sim.subscribe(newcomer, CHANNEL)
    joined = sim.run_until(whole, began + _LIMIT_S) and stood
    took = sim.now - began
    return task | {
        "joined": joined,
        "rounds": took / config.period,
        "extra": sum(sim.sent.values()) - before - at_rest * took,
    }


def _spare(graph: dict[int, tuple[int, ...]], rng: random.Random) -> int:
    """A node that is not the smallest, and without which the others stay connected."""
    names = sorted(graph)[1:]
    rng.shuffle(names)
    for name in names:
        left = {n: tuple(o for o in around if o != name) for n, around in graph.items()}
        del left[name]
        seen = [min(left)]
        for node in seen:
            seen += [other for other in left[node] if other not in seen]
        if len(seen) == len(left):
            return name
    return names[0]


def _claims(rows: Sequence[Row]) -> Iterator[Claim]:
    sizes = sorted({row["n"] for row in rows})

    def growth(draw: Draw) -> float:
        """Rounds of the largest ring over those of the smallest, by how much larger it is."""
        if len(sizes) < 2:
            raise LookupError("only one size was run")
        few, many = ([r["rounds"] for r in rows if r["n"] == n] for n in (sizes[0], sizes[-1]))
        return float(draw(many) / draw(few) * sizes[0] / sizes[-1])

    yield Claim(
        WORK, "3", "a node joins a ring of n in O(n): rounds grow no faster than n", "",
        Unit.TIMES, growth, most=1,
    )  # fmt: skip


def _section(rows: Sequence[Row], picture: Path) -> Iterator[str]:
    by_n = grouped(rows, "n")
    figure = new_figure(9, 4.6)
    (axes,) = panels(figure, 1, 1)
    sizes = [n for (n,) in by_n]
    axes.plot([r["n"] for r in rows], [r["rounds"] for r in rows], "o", color=GREY, markersize=3)
    rounds = [mean(r["rounds"] for r in group) for group in by_n.values()]
    axes.plot(sizes, rounds, color=OURS, marker="o", label="mean")
    axes.set_xlabel("nodes n of the ring")
    axes.set_ylabel("rounds until legitimate")
    axes.set_ylim(bottom=0)
    axes.legend()
    save_figure(figure, picture)
    yield (
        "Random graphs with six links a node, perfect links, every tenth node subscribed; the new "
        "node subscribes too. A round is a beacon period. *Packets*: sent until then by all, "
        "beyond what they send at rest in that time."
    )
    yield ""
    yield from table(
        ("n", "networks", "rounds, mean", "at worst", "packets", "packets a node"),
        (
            (
                str(n),
                str(len(group)),
                f"{mean(r['rounds'] for r in group):.1f}",
                f"{max(r['rounds'] for r in group):.1f}",
                f"{mean(r['extra'] for r in group):,.0f}",
                f"{mean(r['extra'] for r in group) / n:.1f}",
            )
            for (n,), group in by_n.items()
        ),
        right=0,
    )


JOINING = Part("joining", "Joining a ring", _tasks, joining, _section, _claims)

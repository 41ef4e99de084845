"""Figure 9: the length of routes over the radio model, PSVR beside Shen."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from zonal.mesh import (
    MeshConfig,
    Simulation,
    components,
    lay_out,
    used_graph,
)
from zonal_lab.experiment import Claim, Unit, new_figure, panels, save_figure
from zonal_lab.psvr.channels import RadioChannel
from zonal_lab.psvr.parts.part import (
    SCHEME_COLOURS,
    SCHEME_NAMES,
    WORK,
    Part,
    Row,
    gain,
    grouped,
    product,
)
from zonal_lab.psvr.peers import PsvrScheme, Scheme, shen_scheme
from zonal_lab.psvr.plane import random_points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from zonal.mesh import Graph, Layout
    from zonal_lab.psvr.plan import PsvrPlan, Recordings


def settled_radio(task: Row) -> tuple[Graph, Layout] | None:
    """The links and the tree that a radio network has settled on (its largest part)."""
    rng = random.Random(task["seed"])
    points = random_points(task["n"], task["side"], rng)
    most = task.get("max_links", MeshConfig().max_links)
    config = MeshConfig(max_links=most, max_candidates=max(MeshConfig().max_candidates, 2 * most))
    sim = Simulation(RadioChannel(points, seed=task["seed"]), config)
    sim.run(task["warm"])
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


def _route_tasks(plan: PsvrPlan, data: Recordings, n: int) -> list[Row]:
    del data, n
    size, side = (20, 35) if plan.quick else (50, 60)
    repeat = 2 if plan.quick else 12
    return product(9 * plan.seed, repeat, n=(size,), side=(side,), warm=(90,), subscribers=(size,))


def hop_distances(task: Row) -> list[Row]:
    """Hops from every node to a single subscriber, PSVR beside Shen, same tree; a row a length."""
    found = settled_radio(task)
    if found is None:
        return []
    graph, layout = found
    counts: dict[tuple[str, int], int] = {}
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
            for name, scheme in schemes.items():
                hops = scheme.publish(publisher).hops[subscriber]
                counts[name, hops] = counts.get((name, hops), 0) + 1
    return [
        task | {"scheme": name, "hops": hops, "routes": count}
        for (name, hops), count in sorted(counts.items())
    ]


def _mean_hops(rows: Sequence[Row]) -> float:
    return float(sum(r["hops"] * r["routes"] for r in rows) / sum(r["routes"] for r in rows))


def _short(rows: Sequence[Row]) -> float:
    """Per cent of the routes that have up to three hops."""
    short = [row for row in rows if row["hops"] <= 3]
    return float(100 * sum(r["routes"] for r in short) / sum(r["routes"] for r in rows))


def _by_network(rows: Sequence[Row], value: Callable[[Sequence[Row]], float]) -> dict[str, Any]:
    """A figure of each network, by scheme."""
    found: dict[str, list[float]] = {"psvr": [], "shen": []}
    for (scheme, _), part in grouped(rows, "scheme", "seed").items():
        found.setdefault(scheme, []).append(value(part))
    return found


def _route_claims(rows: Sequence[Row]) -> Iterator[Claim]:
    short, hops = _by_network(rows, _short), _by_network(rows, _mean_hops)
    yield Claim(
        WORK, "5.2, figure 9", "a larger share of routes of up to 3 hops than Shen", "larger",
        Unit.POINTS, lambda draw: draw(short["psvr"]) - draw(short["shen"]), least=0, neutral=0,
    )  # fmt: skip
    yield Claim(
        WORK, "5.2, figure 9", "a shorter mean route than Shen", "shorter", Unit.CHANGE,
        lambda draw: gain(draw(hops["psvr"]), draw(hops["shen"])), most=0, neutral=0,
    )  # fmt: skip


def _route_section(rows: Sequence[Row], picture: Path) -> Iterator[str]:
    figure = new_figure(9, 4.6)
    (axes,) = panels(figure, 1, 1)
    most = max(row["hops"] for row in rows)
    for shift, name in ((-0.2, "psvr"), (0.2, "shen")):
        part = [row for row in rows if row["scheme"] == name]
        total = sum(row["routes"] for row in part)
        counts = {hops: sum(r["routes"] for r in g) for (hops,), g in grouped(part, "hops").items()}
        heights = [100 * counts.get(hops, 0) / total for hops in range(1, most + 1)]
        places = [hops + shift for hops in range(1, most + 1)]
        axes.bar(places, heights, 0.4, color=SCHEME_COLOURS[name], label=SCHEME_NAMES[name])
        axes.axvline(_mean_hops(part), color=SCHEME_COLOURS[name], linestyle="--", linewidth=1)
    axes.set_xlabel("hops from publisher to subscriber (dashed: mean)")
    axes.set_ylabel("routes in %")
    axes.legend()
    save_figure(figure, picture)
    networks = len({row["seed"] for row in rows})
    yield (
        f"{networks} radio networks of {rows[0]['n']} nodes, every node a publisher to every other "
        "as the only subscriber."
    )
    yield ""


ROUTES = Part(
    "routes",
    "Figure 9: length of routes",
    _route_tasks,
    hop_distances,
    _route_section,
    _route_claims,
)

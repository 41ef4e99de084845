"""Figure 10: messages saved against Shen, by the density of the network."""

from __future__ import annotations

import random
from statistics import mean, median
from typing import TYPE_CHECKING

from zonal.mesh import (
    MeshConfig,
    components,
    graph_of,
    lay_out,
)
from zonal_lab.experiment import Claim, Unit, new_figure, panels, save_figure, table
from zonal_lab.psvr.channels import RadioChannel, RadioConfig, packet_ratio
from zonal_lab.psvr.parts.part import (
    GREY,
    SCHEME_NAMES,
    WORK,
    Part,
    Row,
    gain,
    grouped,
    product,
)
from zonal_lab.psvr.parts.routes import settled_radio
from zonal_lab.psvr.peers import PsvrScheme, bfs_tree, shen_scheme
from zonal_lab.psvr.plane import geometric, random_points

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from zonal.mesh import Graph
    from zonal_lab.experiment import Draw
    from zonal_lab.psvr.plan import PsvrPlan, Recordings

_SIDES_M = (70, 120, 180, 240)  # up to 70 m all but everybody hears everybody
_POINTS, _RADIOS = 100, 50  # nodes in the unit square, and on the radio
_OCTETS = 60  # of a packet by which links are judged, with what the radio adds


def _density_tasks(plan: PsvrPlan, data: Recordings, n: int) -> list[Row]:
    del data
    quick = plan.quick
    plane = product(
        10 * plan.seed,
        4 if quick else 10,
        model=("plane",),
        n=(40 if quick else _POINTS,),
        range=(0.25, 0.4) if quick else (0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
        side=(0,),
        max_links=(0,),
    )
    radio = product(
        10 * plan.seed + 1000,
        2 if quick else 8,
        model=("radio",),
        n=(20 if quick else _RADIOS,),
        range=(0.0,),
        side=(30,) if quick else _SIDES_M,
        max_links=(8,) if quick else (8, 48),
    )
    ideal = product(
        10 * plan.seed + 2000,
        2 if quick else 40,
        model=("ideal",),
        n=(20 if quick else _RADIOS,),
        range=(0.0,),
        side=(30,) if quick else _SIDES_M,
        max_links=(0,),
    )
    chosen = [*plane, *radio, *ideal]
    if not quick:
        chosen = [task for task in chosen if task["n"] == n]
    return [task | {"warm": 90, "s": 1, "draws": 40} for task in chosen]


def density_gain(task: Row) -> Row:
    """Messages against Shen by communication range, on points in the plane or over the radio.

    `ideal` is the radio with every link that is good enough for a shortcut, however many.
    """
    rng = random.Random(task["seed"])
    empty = {"psvr": 0, "shen": 0, "wide": 0, "degree": 0.0}
    if task["model"] == "radio":
        found = settled_radio(task)
        if found is None:
            return task | empty
        graph, layout = found
    else:
        if task["model"] == "ideal":
            graph = _good_links(task["n"], task["side"], task["seed"])
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


def _good_links(nodes: int, side: float, seed: int) -> Graph:
    """All links of a radio network that carry shortcuts, as if nobody else spoke; largest part."""
    config = RadioConfig(fading=0.0)
    channel = RadioChannel(random_points(nodes, side, random.Random(seed)), config, seed=seed)

    def ratio(a: int, b: int) -> float:
        return packet_ratio(channel.power(a, b, 0.0) - config.noise, _OCTETS)

    good = MeshConfig().shortcut_quality
    pairs = ((a, b) for a in channel.audible for b in channel.audible[a] if a < b)
    graph = graph_of(((a, b) for a, b in pairs if ratio(a, b) ** 2 >= good), channel.nodes())
    part = max(components(graph), key=len)
    return {n: graph[n] for n in sorted(part)}


_PLANE = "points in the unit square"
_IDEAL = "radio, every good link"


def _saved(rows: Sequence[Row]) -> list[float]:
    return [-gain(r["psvr"], r["shen"]) for r in rows]


def _by_density(rows: Sequence[Row]) -> dict[str, list[list[Row]]]:
    """For each model, groups of rows from the sparsest to the densest."""
    found = {}
    for (model, most), part in grouped(
        [r for r in rows if r["shen"]], "model", "max_links"
    ).items():
        groups = list(grouped(part, "range" if model == "plane" else "side").values())
        if model != "plane":  # the wider the side, the sparser
            groups.reverse()
        name = {"plane": _PLANE, "ideal": _IDEAL}.get(model, f"radio, C_N = {most}")
        found[name] = groups
    return found


def _density_claims(rows: Sequence[Row]) -> Iterator[Claim]:
    models = _by_density(rows)
    for name in models or (_PLANE,):
        groups = models.get(name, [[], []])

        def more(draw: Draw, ends: list[list[Row]] = groups) -> float:
            low, high = (draw(_saved(ends[end])) for end in (0, -1))
            return high - low

        yield Claim(
            WORK, "5.2, figure 10",
            f"more is saved against Shen where the network is densest than where it is sparsest: "
            f"{name}", "more", Unit.POINTS, more, least=0, neutral=0,
        )  # fmt: skip


def _density_section(rows: Sequence[Row], picture: Path) -> Iterator[str]:
    models = _by_density(rows)
    figure = new_figure(3.6 * len(models) + 1, 4.6)
    for axes, (name, groups) in zip(panels(figure, 1, len(models)), models.items(), strict=True):
        labels = [
            f"{group[0]['side'] or group[0]['range']:g}\n{mean(r['degree'] for r in group):.1f}"
            for group in groups
        ]
        axes.boxplot([_saved(group) for group in groups], tick_labels=labels)
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.set_xlabel(f"{'side in m' if 'radio' in name else 'range'}, and links per node")
        axes.set_title(name)
    figure.axes[0].set_ylabel("messages saved against Shen in %")
    save_figure(figure, picture)
    yield (
        "One subscriber, 40 publications on each network; a row a density, from sparse to dense. "
        "On the radio C_N bounds the links that running nodes keep (48: no bound among 50 nodes); "
        "*every good link* has an ideal tree and all links that could carry shortcuts if nobody "
        "else spoke."
    )
    yield ""
    yield from table(
        ("", "side in m, or range", "networks", "links a node", "PSVR", "Shen", "saved, median"),
        (
            (
                name,
                f"{group[0]['side'] or group[0]['range']:g}",
                str(len(group)),
                f"{mean(r['degree'] for r in group):.1f}",
                *(f"{mean(r[each] / r['draws'] for r in group):.2f}" for each in SCHEME_NAMES),
                f"{median(_saved(group)):.0f} %",
            )
            for name, groups in models.items()
            for group in groups
        ),
        right=1,
    )


DENSITY = Part(
    "density",
    "Figure 10: savings by density",
    _density_tasks,
    density_gain,
    _density_section,
    _density_claims,
    sizes=(_POINTS, _RADIOS),
)

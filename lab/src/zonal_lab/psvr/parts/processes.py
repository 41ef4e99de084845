"""Figure 11, left: real processes on recorded losses, with links cut and mended."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from zonal.mesh import MeshConfig, component, components, graph_of
from zonal_lab.experiment import OURS as OUR_FIGURE
from zonal_lab.experiment import Claim, Unit, new_figure, panels, save_figure, table
from zonal_lab.psvr.channels import TraceChannel, connected_nodes, read_k7
from zonal_lab.psvr.parts.part import (
    CHANNEL,
    GREY,
    WORK,
    Part,
    Row,
    drawn_share,
    grouped,
    product,
    share_of,
)
from zonal_lab.psvr.processes.fleet import Fleet, Losses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from zonal_lab.experiment import Draw
    from zonal_lab.psvr.plan import PsvrPlan, Recordings

_PERIOD = 0.5  # seconds to a beacon
_SETUP = 60  # beacons before the first publication; the paper grants ten minutes
_LAST = 6.0  # seconds for what is still under way: a cut link is noticed after six beacons
_LATE = 1.0  # seconds from which a delivery is called late


def _tasks(plan: PsvrPlan, data: Recordings, n: int) -> list[Row]:
    return product(
        12 * plan.seed,
        1 if plan.quick else plan.tests,
        n=(n,),
        acknowledged=(False, True),
        seconds=(8 if plan.quick else 30,),
        trace=(str(data.links),),
        start=(plan.start,),
    )


def connected_links(path: Path, n: int, at: float) -> Losses:
    """Losses at this time of a trace, on the links of n nodes that hang together."""
    series = read_k7(path)
    chosen = connected_nodes(series, n, at)
    channel = TraceChannel(series)
    return {
        (a, b): 1 - channel.ratio(a, b, at)
        for a, b in series
        if {a, b} <= chosen and channel.ratio(a, b, at) > 0.1
    }


def spare_links(losses: Losses) -> list[tuple[int, int]]:
    """Links without which the good ones still connect everybody: a fault, not a partition."""
    good = {(min(p), max(p)) for p, loss in losses.items() if loss < 0.7}
    names = {name for pair in losses for name in pair}
    return sorted(
        link
        for link in good
        if len(component(graph_of(good - {link}, names), min(names))) == len(names)
    )


def parts_left(losses: Losses, down: set[tuple[int, int]]) -> dict[int, set[int]]:
    """Whom the links that are not cut connect each node with, both ways and however badly."""
    names = {name for pair in losses for name in pair}
    there = {pair for pair in losses if pair not in down and (pair[1], pair[0]) in losses}
    graph = graph_of(((a, b) for a, b in there if a < b), names)
    return {node: part for part in components(graph) for node in part}


def fleet_test(task: Row) -> Row:
    """One test: set up, publish at a steady pace while links are cut and mended, count."""
    rng = random.Random(task["seed"])
    losses = connected_links(Path(task["trace"]), task["n"], task["start"])
    config = MeshConfig(
        period=_PERIOD, lease_floor=5 * _PERIOD, write_back=8, acknowledged=task["acknowledged"]
    )
    with Fleet(losses, config, seed=task["seed"]) as fleet:
        subscribers = set(rng.sample(fleet.names, max(task["n"] // 3, 2)))
        for node in subscribers:
            fleet.subscribe(node, CHANNEL)
        fleet.run(_SETUP * _PERIOD)
        reachable = _publish_under_cuts(fleet, subscribers, rng, task["seconds"])
        fleet.run(_LAST)
        name = Path(task["trace"]).name
        return task | _counted(fleet, subscribers) | {"reachable": reachable, "trace": name}


def _publish_under_cuts(
    fleet: Fleet, subscribers: set[int], rng: random.Random, seconds: float
) -> int:
    """Four publications a second, every ten a cut; how many deliveries the links left possible."""
    links, reachable = spare_links(fleet.losses), 0
    cut: list[tuple[int, int]] = []
    parts = parts_left(fleet.losses, fleet.down)
    for step in range(int(seconds / _PERIOD)):
        if step % 20 == 10 and links:
            if cut:
                fleet.mend(*cut.pop())
            cut.append(rng.choice(links))
            fleet.cut(*cut[-1])
            parts = parts_left(fleet.losses, fleet.down)
        for _ in range(2):
            origin = rng.choice(fleet.names)
            fleet.publish(origin, CHANNEL, "reading")
            reachable += len((subscribers - {origin}) & parts[origin])
            fleet.run(_PERIOD / 2)
    return reachable


def _counted(fleet: Fleet, subscribers: set[int]) -> Row:
    wanted = sum(len(subscribers - {origin}) for origin, _ in fleet.published)
    delays = [
        at - published
        for key, published in fleet.published.items()
        for at in fleet.delivered.get(key, {}).values()
    ]
    reports = fleet.ask().values()
    return {
        "wanted": wanted, "got": len(delays), "publications": len(fleet.published),
        "forwarded": sum(r["forwarded"] for r in reports),
        "repeats": sum(r["repeats"] for r in reports),
        "anew": sum(r["anew"] for r in reports),
        "late": sum(delay > _LATE for delay in delays),
        "latest": round(max(delays, default=0.0), 2),
    }  # fmt: skip


def _claims(rows: Sequence[Row]) -> Iterator[Claim]:
    sizes = sorted({row["n"] for row in rows}) or (10, 20, 50)
    for acknowledged, n in itertools.product((False, True), sizes):
        some = [row for row in rows if row["n"] == n and row["acknowledged"] is acknowledged]
        yield _arrived(some, f"{n} processes, links cut", acknowledged=acknowledged)


def _arrived(rows: Sequence[Row], where: str, *, acknowledged: bool) -> Claim:
    def figure(draw: Draw) -> float:
        return drawn_share(draw, rows, "got", "reachable")

    if acknowledged:
        text = "above 95 % of the deliveries arrive with acknowledgement"
        return Claim(OUR_FIGURE, f"mesh, {where}", text, "", Unit.SHARE, figure, least=95)
    text = f"{where}: at least 80 % of the deliveries arrive without acknowledgement"
    return Claim(WORK, "5.3, figure 11", text, "80 to 90 %", Unit.SHARE, figure, least=80)


def _section(rows: Sequence[Row], picture: Path) -> Iterator[str]:
    runs = grouped(rows, "n", "acknowledged")
    figure = new_figure(9, 4.6)
    (axes,) = panels(figure, 1, 1)
    axes.boxplot(
        [[100 * r["got"] / r["reachable"] for r in group] for group in runs.values()],
        tick_labels=[f"{n}{' ack' if ack else ''}" for n, ack in runs],
    )
    axes.axhspan(80, 90, color=GREY, alpha=0.2)
    axes.set_ylim(0, 102)
    axes.set_xlabel("real processes (grey: the paper's 80 to 90 %)")
    axes.set_ylabel("publications delivered in %")
    save_figure(figure, picture)
    yield (
        f"Losses of `{rows[0]['trace']}` at second {rows[0]['start']:g}; a beacon every "
        f"{_PERIOD:g} s, 60 of them to set up, then {rows[0]['seconds']:g} s with four "
        "publications a second, while every ten seconds a link is cut and the last one mended. "
        "*Late*: after more than a second."
    )
    yield ""
    yield from table(
        ("processes", "acknowledged", "tests", "possible", "delivered", "late", "latest"),
        (
            (
                str(n),
                "yes" if ack else "no",
                str(len(part)),
                f"{sum(r['reachable'] for r in part):,}",
                f"{mean(100 * r['got'] / r['reachable'] for r in part):.1f} %",
                f"{share_of(part, 'late', 'got'):.1f} %",
                f"{max(r['latest'] for r in part):.1f} s",
            )
            for (n, ack), part in runs.items()
        ),
        right=2,
    )


PROCESSES = Part(
    "processes",
    "Figure 11: real processes",
    _tasks,
    fleet_test,
    _section,
    _claims,
    sizes=(10, 20, 50),
    spreads=False,
    recorded=True,
)

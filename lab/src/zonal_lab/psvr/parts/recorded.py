"""Figure 11, right: long runs on recorded links, simulated."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

from zonal.mesh import MeshConfig, Simulation, components
from zonal_lab.experiment import OURS as OUR_FIGURE
from zonal_lab.experiment import Claim, Unit, new_figure, panels, save_figure, table
from zonal_lab.psvr.channels import TraceChannel, connected_nodes, read_k7
from zonal_lab.psvr.parts.part import CHANNEL, WORK, Part, Row, drawn_share, grouped, share_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from zonal.mesh import PublicationRecord
    from zonal_lab.psvr.plan import PsvrPlan, Recordings

_RADIO = 20  # the one of the sixteen radio channels that the run of fifty is repeated on


def _tasks(plan: PsvrPlan, data: Recordings, n: int) -> list[Row]:
    common = {
        "trace": str(data.links),
        "start": plan.start,
        "warm": 600.0,
        "seconds": 180.0 if plan.quick else plan.hours * 3600,
        "window": 60.0 if plan.quick else 600.0,
        "every": 5.0 if plan.quick else 20.0,
        "seed": 11 * plan.seed,
        "n": n,
    }
    with_one = n == 50 and ".gz" in data.links.suffixes and not plan.quick
    return [
        common
        | {"acknowledged": ack, "channel": channel}
        | {"radio": f"channel {channel}" if channel else "16 channels"}
        for channel in ((0, _RADIO) if with_one else (0,))
        for ack in (False, True)
    ]


def trace_run(task: Row) -> list[Row]:
    """A long run on the recorded trace; one row per window of time."""
    path = Path(task["trace"])
    whole = read_k7(path, channel=task["channel"] or None)
    chosen = connected_nodes(read_k7(path), task["n"], task["start"])
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
                "trace": path.name,
                "minutes": (sim.now - began) / 60,
                "possible": sum(len((subscribers - {r.origin}) & parts[r.origin]) for r in records),
                "got": sum(len(r.deliveries) for r in records),
                "bound": _bound(sim, subscribers, records),
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


def _claims(rows: Sequence[Row]) -> Iterator[Claim]:
    most = max((row["n"] for row in rows), default=50)
    widest = [row for row in rows if row["n"] == most and not row["channel"]]
    for ack, work, where, claim, least in (
        (False, WORK, "5.3, figure 11", "at least 80 % arrive without acknowledgement", 80.0),
        (True, OUR_FIGURE, "mesh", "above 95 % arrive with acknowledgement", 95.0),
    ):
        some = [row for row in widest if row["acknowledged"] is ack]
        yield Claim(
            work, where, f"recorded links, {most} nodes: {claim} (a round is ten minutes)",
            "" if ack else "80 to 90 %", Unit.SHARE,
            lambda draw, part=some: drawn_share(draw, part, "got", "possible"), least=least,  # type: ignore[misc] # its own
        )  # fmt: skip


def _section(rows: Sequence[Row], picture: Path) -> Iterator[str]:
    figure = new_figure(9, 4.6)
    (axes,) = panels(figure, 1, 1)
    runs = grouped(rows, "n", "radio", "acknowledged")
    for (n, radio, ack), part in runs.items():
        axes.plot(
            [r["minutes"] / 60 for r in part],
            [100 * r["got"] / max(r["possible"], 1) for r in part],
            linewidth=1,
            linestyle="-" if ack else ":",
            label=f"{n}, {radio}{', ack' if ack else ''}",
        )
    axes.set_ylim(0, 102)
    axes.set_xlabel("hours of simulated time")
    axes.set_ylabel("publications delivered in %")
    axes.legend(fontsize=7)
    save_figure(figure, picture)
    yield (
        f"Links of `{rows[0]['trace']}`, from second {rows[0]['start']:g} on, a third of the nodes "
        "subscribed, `write_back=8`, ten minutes to set up; what the recording disconnects is not "
        "counted as possible. *At best*: what the best way between any two nodes lets survive "
        "without repetition."
    )
    yield ""
    yield from table(
        ("nodes", "radio", "acknowledged", "possible", "delivered", "at best, without repetition"),
        (
            (
                str(n),
                radio,
                "yes" if ack else "no",
                f"{sum(r['possible'] for r in part):,}",
                f"{share_of(part, 'got', 'possible'):.1f} %",
                f"{share_of(part, 'bound', 'possible'):.1f} %",
            )
            for (n, radio, ack), part in runs.items()
        ),
        right=3,
    )


RECORDED = Part(
    "recorded",
    "Figure 11: recorded links",
    _tasks,
    trace_run,
    _section,
    _claims,
    sizes=(10, 20, 50),
    recorded=True,
)

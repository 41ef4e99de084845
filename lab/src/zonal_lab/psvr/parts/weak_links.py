"""Links that lose half of the packets: delivery with acknowledgement, and what it takes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

from zonal.mesh import Ack, Beacon, MeshConfig, Pub, Simulation, Sub, components
from zonal_lab.experiment import OURS as OUR_FIGURE
from zonal_lab.experiment import Claim, Unit, table
from zonal_lab.psvr.channels import TraceChannel, read_trace
from zonal_lab.psvr.parts.part import CHANNEL, Part, Row, drawn_share, grouped, share_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from zonal_lab.experiment import Draw
    from zonal_lab.psvr.channels import LinkSeries
    from zonal_lab.psvr.plan import PsvrPlan, Recordings

_LINKS = {
    "thinned": "thinned links",
    "as recorded": "links as recorded",
    "table": "links that lose half",
}
_THINNED = (0.3, 0.9)
_LEAST_PERCENT, _MOST_HOPS = 95.0, 60.0
_CONNECTED = 0.1  # two-way ratio of a link that may join two nodes
_LAST_S = 20.0  # for what is still under way
_NETWORKS = 12  # on each recording, with seeds of their own


def _tasks(plan: PsvrPlan, data: Recordings, n: int) -> list[Row]:
    del n
    recordings = [("thinned", data.links), ("as recorded", data.links)]
    if data.table is not None:
        recordings.append(("table", data.table))
    return [
        {
            "links": links,
            "trace": str(path),
            "start": plan.start if path is data.links else 0.0,
            "warm": 40.0 if plan.quick else 400.0,
            "publications": 5 if plan.quick else 40,
            "every": 5.0,
            "seed": plan.seed + number,
        }
        for links, path in recordings
        for number in range(1 if plan.quick else _NETWORKS)
    ]


def thinned(series: LinkSeries, seed: int) -> LinkSeries:
    """A recording whose links lose more, each by a factor of its own and each way."""
    rng = random.Random(seed)
    factors = {pair: rng.uniform(*_THINNED) for pair in sorted(series)}
    return {
        pair: (times, [factors[pair] * ratio for ratio in ratios])
        for pair, (times, ratios) in series.items()
    }


def weak_delivery(task: Row) -> Row:
    """Publications of a network on such links: deliveries, and packets of each kind."""
    path, seed = Path(task["trace"]), task["seed"]
    series = read_trace(path)
    if task["links"] == "thinned":
        series = thinned(series, 1)
    channel = TraceChannel(series, seed=seed, start=task["start"])
    sim = Simulation(channel, MeshConfig(write_back=8, acknowledged=True), seed=seed)
    rng = random.Random(seed)
    parts = components(channel.links_above(_CONNECTED, 0))
    names = max((sorted(part) for part in parts), key=len)
    subscribers = set(rng.sample(names, max(len(names) // 3, 2)))
    for node in subscribers:
        sim.subscribe(node, CHANNEL)
    sim.run(task["warm"])
    before, forwarded, began = dict(sim.sent), _forwarded(sim), sim.now
    records = []
    for _ in range(task["publications"]):
        records.append(sim.publish(rng.choice(names), CHANNEL))
        sim.run(sim.now + task["every"])
    sim.run(sim.now + _LAST_S)
    sent = {kind: sim.sent.get(kind, 0) - before.get(kind, 0) for kind in (Pub, Ack, Sub, Beacon)}
    a_node_a_second = 1 / (len(sim.nodes) * (sim.now - began))
    return task | {
        "trace": path.name,
        "n": len(names),
        "s": len(subscribers),
        "wanted": sum(len(subscribers - {r.origin}) for r in records),
        "got": sum(len(r.deliveries) for r in records),
        "hops": _forwarded(sim) - forwarded,
        "sent": sent[Pub],
        "acks": sent[Ack],
        "subs": sent[Sub] * a_node_a_second,
        "beacons": sent[Beacon] * a_node_a_second,
        "late": sum(a.time - r.time > 5 for r in records for a in r.deliveries),
    }


def _forwarded(sim: Simulation) -> int:
    return sum(node.counters.forwarded for node in sim.nodes.values())


def _claims(rows: Sequence[Row]) -> Iterator[Claim]:
    for links, title in _LINKS.items():
        some = [row for row in rows if row["links"] == links]
        yield Claim(
            OUR_FIGURE, f"mesh, {title}", "at least 95 % arrive with acknowledgement", "",
            Unit.SHARE, lambda draw, part=some: drawn_share(draw, part, "got", "wanted"),  # type: ignore[misc] # its own
            least=_LEAST_PERCENT,
        )  # fmt: skip
        yield Claim(
            OUR_FIGURE, f"mesh, {title}", "at most 60 messages a publication", "",
            Unit.COUNT, lambda draw, part=some: _hops(draw, part),  # type: ignore[misc] # its own
            most=_MOST_HOPS,
        )  # fmt: skip


def _hops(draw: Draw, rows: Sequence[Row]) -> float:
    return draw([row["hops"] for row in rows]) / draw([row["publications"] for row in rows])


def _title(links: str, trace: str) -> str:
    return f"{trace}, thinned" if links == "thinned" else trace


def _section(rows: Sequence[Row], picture: Path) -> Iterator[str]:
    del picture
    low, high = _THINNED
    yield (
        "A third of the nodes subscribed to one channel, any node publishes, every "
        f"{rows[0]['every']:g} s, {rows[0]['publications']} publications a network after "
        f"{rows[0]['warm']:g} s; `write_back=8`. *Thinned*: each link of the recording, each way, "
        f"delivers {low:g} to {high:g} of what it did. A *message* is a publication handed to "
        "the next node, however often it takes; *sent* counts every try. *Late*: after 5 s."
    )
    yield ""
    yield from table(
        (
            *("links", "nodes, subscribers", "networks", "delivered", "late"),
            *("messages a publication", "sent", "acknowledgements"),
            *("SUBs a node a second", "beacons"),
        ),
        (
            (
                _title(links, trace),
                f"{part[0]['n']}, {part[0]['s']}",
                str(len(part)),
                f"{share_of(part, 'got', 'wanted'):.1f} %",
                f"{share_of(part, 'late', 'got'):.1f} %",
                *(
                    f"{sum(r[each] for r in part) / sum(r['publications'] for r in part):.0f}"
                    for each in ("hops", "sent", "acks")
                ),
                *(f"{sum(r[each] for r in part) / len(part):.1f}" for each in ("subs", "beacons")),
            )
            for (links, trace), part in grouped(rows, "links", "trace").items()
        ),
        right=1,
    )


WEAK_LINKS = Part(
    "weak-links",
    "Links that lose half of the packets",
    _tasks,
    weak_delivery,
    _section,
    _claims,
    draws=False,
    recorded=True,
)

"""The page on peers: each work's figures, and what each system does better than we do."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from zonal_lab.experiment import picture, table
from zonal_lab.peers.fences import STEPS
from zonal_lab.peers.pictures import draw_ratios
from zonal_lab.peers.plan import NAMES, WORKS
from zonal_lab.peers.samples import METRICS, OURS, Compared
from zonal_lab.peers.things import NEAREST, RADIUS_M
from zonal_lab.peers.use_case import GRANULARITY, WARM_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from zonal_lab.experiment import Results
    from zonal_lab.peers.samples import Metric

_TITLES = {
    "things": "What is where now",
    "fences": "Who enters, who leaves",
    "index": "GeoBroker's own code",
    "use-case": "GeoBroker's own server",
    "mqtt": "MQTT brokers",
    "rest": "REST",
}


_GEOBROKER = (
    "commit 0e11aec of 2021, built with Spatial4j 0.8, JTS 1.17 and JeroMQ 0.5.3 as released, "
    "where it names snapshots of its own"
)


def page(results: Results, folder: Path, name: str) -> Iterator[str]:
    """The page's lines; a picture for each work goes into the folder."""
    found, plan = Compared(results), results.manifest()["plan"]
    yield (
        "Figures are medians of the rounds, in which systems take turns. **Bold**: better than "
        "ours in at least four rounds of five; processor time is that of the server's processes, "
        "which hardly depends on what else the machine does; rates and latencies do."
    )
    yield ""
    if found.missing:
        yield "Not to be had where this was run: " + "; ".join(
            f"{NAMES[system]} ({why})" for system, why in sorted(found.missing.items())
        ) + "."  # fmt: skip
        yield ""
    yield from _better(found)
    for work in WORKS:
        if not found.systems(work):
            continue
        yield f"## {_TITLES[work]}"
        yield ""
        yield _words(work, plan)
        yield ""
        yield from _figures(found, work)
        file = f"{name}-{work}.png"
        draw_ratios(found, work, folder / file)
        yield from picture(f"{_TITLES[work]}: how many times as good as ours", file)


def _better(found: Compared) -> Iterator[str]:
    """From the data: who surely has a better figure than ours, and by how much."""
    yield "## What each does better than we do"
    yield ""
    rows = []
    for system in NAMES:
        if system == OURS:
            continue
        measured = [m for m in METRICS if found.ratios(m, system)]
        if not measured:
            continue
        better = [m for m in measured if found.surely_better(m, system)]
        worse = [m for m in measured if found.surely_worse(m, system)]
        said = "; ".join(_by_how_much(found, each, system) for each in better) or "nothing"
        rows.append((NAMES[system], f"{len(better)}, {len(worse)} of {len(measured)}", said))
    yield from table(("", "figures better, worse than ours", "better, and how many times"), rows)


def _by_how_much(found: Compared, metric: Metric, system: str) -> str:
    middle = median(found.ratios(metric, system))
    times = middle if metric.more else 1 / max(middle, 1e-9)
    return f"{metric.title} × {times:,.0f}" if times >= 10 else f"{metric.title} × {times:.1f}"


def _figures(found: Compared, work: str) -> Iterator[str]:
    systems = found.systems(work)
    yield from table(
        ("", *(NAMES[each] for each in systems)),
        (
            (metric.title, *(_cell(found, metric, system) for system in systems))
            for metric in METRICS
            if metric.work == work
        ),
        right=1,
    )


def _cell(found: Compared, metric: Metric, system: str) -> str:
    value = found.middle(metric, system)
    if value is None:
        return "–"
    text = metric.written(value)
    return f"**{text}**" if system != OURS and found.surely_better(metric, system) else text


def _words(work: str, plan: dict[str, Any]) -> str:
    if work == "things":
        return (
            f"{plan['things']:,} things in 55 × 39 km, half of them moved once, then "
            f"{plan['questions']} questions of one client, one after the other: all within "
            f"{RADIUS_M / 1000:g} km, and the nearest {NEAREST}. *Zonal*: `zonal store`, durable "
            "in SQLite, behind a stock router; a session puts one message a thing and asks by "
            "`get`; the processor time is that of store and router. *Tile38*, *Redis*: in memory "
            "alone, many commands in a write; Redis has no search without a radius, so its client "
            "doubles one. *PostGIS*: geography with a GiST index, prepared statements of 500 "
            "rows, no `fsync`; its memory is the table's size with indices."
        )
    if work == "fences":
        return (
            f"{plan['fences']:,} circles of 100 to 500 m, {plan['moving']:,} things, {STEPS} steps "
            "of some 50 m each; entries and exits are told. *Zonal*: the border alone in a "
            "process, places handed over in batches of 500, without a network. *Tile38*: a "
            "channel for each circle (`SETCHAN … DETECT enter,exit`), one subscriber of all of "
            "them, steps as `SET`s of 500 in a write; its processor time includes the network's."
        )
    if work == "index":
        return (
            f"{plan['workload_scale']:g} of GeoBroker's 110,000 operations (35,000 adds, 25,000 "
            "updates, 50,000 gets; circles of 0.01°), answers as subscriptions that are exactly "
            "right. *GeoBroker*: `TopicAndGeofenceMapper` and `ClientDirectory` of its server "
            f"({_GEOBROKER}), called as its matching logic does, "
            "at the best of the granularities 25, 50 and 100, after two rounds of warm-up; "
            "processor time of its one thread, without that of the garbage collector and the "
            "compiler."
        )
    if work == "use-case":
        return (
            f"{plan['clients']} clients that are somewhere else each time, in 0.2 × 0.2°; at each "
            "place a client tells where it is, moves its subscription there (a circle of 0.01°) "
            "and publishes 750 bytes to a circle of the same size, each once the one before is "
            f"acknowledged, as fast as the server answers; {plan['seconds']:g} s after "
            f"{WARM_S:g} s of warm-up. A load in C, with the same places for both. *GeoBroker*: "
            f"its server ({_GEOBROKER}), spoken to over ZeroMQ with JSON as its clients do, "
            f"granularity {GRANULARITY}, two message processors, logging errors alone. "
            "*Zonal*: our broker over MQTT 5, subscriptions at QoS 0, all else acknowledged."
        )
    if work == "rest":
        return (
            f"A load in C, HTTP/1.1 on connections that stay, one request under way on each, a "
            f"body of 30 bytes, {plan['seconds']:g} s each; *get*: every connection asks for a key "
            "of its own. Behind the server's router a client (Python) hears every put and answers "
            "every get. *Zonal*: the web server of `zonal serve` with a router in its process, "
            "without its limit on the requests of one address. *zenohd with REST*: the plug-in in "
            "the router's process, with its defaults. –: it knows no places."
        )
    return (
        f"A load in C, MQTT 3.1.1, 64 bytes, {plan['seconds']:g} s each, a fresh broker for each "
        f"row. *Steady*: {plan['rate']:,} messages a second, 1 → 1, QoS 0, latency from when a "
        f"message was due. *Idle*: {plan['idle']:,} connections. Mosquitto with `set_tcp_nodelay` "
        "and its limits out of the way; nats-server with JetStream, as its MQTT needs; rumqttd "
        "with room for 1,000 under way; aedes on one core as it is; amqtt open to everybody. "
        "*zenohd with MQTT*: the plug-in in the router's process, with its defaults; it grants "
        "QoS 0 to whoever subscribes at 1, so its rows of QoS 1 are acknowledged publications and "
        "deliveries that nobody acknowledges. –: the broker did not do it."
    )

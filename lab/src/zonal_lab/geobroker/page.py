"""The page on GeoBroker's evaluation: the use case, the index, everything matching, verdicts."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from zonal_lab.experiment import picture, table
from zonal_lab.geobroker.brokers import TITLES
from zonal_lab.geobroker.carried import carried
from zonal_lab.geobroker.everything_matches import CLIENTS, PAPER_PERCENT, RATE_HZ, SIZE, Overhead
from zonal_lab.geobroker.pictures import draw_growth, draw_over_time
from zonal_lab.geobroker.plan import MatchingCase
from zonal_lab.geobroker.samples import pooled, read_figures, read_index, read_part
from zonal_lab.geobroker.trial import FEDERATION_GUARD_S
from zonal_lab.index import draw_geo_or_not, draw_granularity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from zonal_lab.experiment import Results
    from zonal_lab.geobroker.samples import CaseFigures


def page(results: Results, folder: Path, name: str) -> Iterator[str]:
    """The page's lines; its pictures go into the folder."""
    manifest = results.manifest()
    yield from _use_case(results, folder, name)
    matching = read_part(results, MatchingCase().name)
    if matching is not None:
        yield from _matching(matching)
    index = read_index(results)
    if index:
        draw_granularity(
            _mean_of([each["granularity"] for each in index]), folder / f"{name}-granularity.png"
        )
        draw_geo_or_not(
            _mean_of([each["geo or not"] for each in index]), folder / f"{name}-geo-or-not.png"
        )
        yield from _index(manifest, name, rounds=len(index))


def _use_case(results: Results, folder: Path, name: str) -> Iterator[str]:
    """Clients on the systems; nothing of a run of the index alone."""
    measured = read_figures(results)
    if not measured:
        return
    rows = pooled(measured)
    travelling = sorted({row.clients for row in rows if row.kind == "travel"})
    yield from _introduction(results.manifest())
    if travelling:
        draw_growth(rows, folder / f"{name}-growth.png")
        yield from picture("by the number of clients", f"{name}-growth.png")
    yield from _load(rows)
    yield from carried(rows, results.manifest())
    yield from _latencies(rows)
    yield from _agreement(rows)
    for clients in travelling:
        mine = [
            row
            for row in measured
            if row.round == 0 and row.clients == clients and row.kind == "travel"
        ]
        draw_over_time(results, mine, folder / f"{name}-{clients}.png")
        yield from picture(f"{clients} clients over time", f"{name}-{clients}.png")


def _mean_of(tables: list[Any]) -> Any:
    """Tables of equal form, number by number."""
    if isinstance(tables[0], dict):
        return {key: _mean_of([each[key] for each in tables]) for key in tables[0]}
    return fmean(tables)


def _introduction(manifest: dict[str, Any]) -> Iterator[str]:
    plan = manifest["plan"]
    yield (
        f"{plan['rounds']} round{'s' * (plan['rounds'] > 1)} of {plan['seconds']:g} s a case "
        "(GeoBroker 2020: one of 25 minutes), systems in turn. Every client travels a "
        "trajectory (by increasing identifier, by its own time stamps, from the start again at "
        "its end; where there are more clients than trajectories, the same ones begun elsewhere)"
        f"{_hurried(plan.get('speed', 1.0))}. "
        "A teleporting "
        f"client ({plan['teleport_seconds']:g} s a case) is at its next place as soon as its "
        "message is acknowledged, so these cases show what a system can do. At each place a "
        "client updates its location, moves its subscription (a circle of 0.01°) and publishes "
        "750 bytes with a geofence of 0.01° (QoS 1), each after the "
        "acknowledgement of the one before. Without places it subscribes once and only publishes, "
        "as in the paper, and throws away what is too far. Clients set out within the first "
        f"{plan['ramp_s']:g} s; {plan['processes']} process(es) carry them all, on the same "
        f"{manifest['cores']} cores as the broker, over loopback. Mosquitto is version "
        f"{manifest.get('mosquitto', '?')}."
    )
    yield ""


def _hurried(speed: float) -> str:
    return "" if speed == 1 else f", {speed:g} times as fast as it was recorded"


def _matching(found: dict[str, Any]) -> Iterator[str]:
    yield "## Everything matches"
    yield ""
    resting = found["resting"]
    yield (
        f"{CLIENTS} clients that all hear everything, {RATE_HZ:g} messages a "
        f"second of {SIZE} bytes, with locations and geofences around all of them; the "
        "same messages in turn at a broker with places and at one without, "
        f"{len(resting['geo_ms'])} rounds, {resting['deliveries']:,} deliveries. While "
        "nobody moves the broker remembers who hears whom; *moving* clients update their "
        "location before each message, which the broker without places ignores. Mean "
        "delivery latency, the mean of the rounds."
    )
    yield ""
    yield from table(
        ("clients", "with places, ms", "without, ms", "latency", "processor time of the broker"),
        [
            *(
                (
                    name,
                    f"{fmean(each.geo_ms):.3f}",
                    f"{fmean(each.no_geo_ms):.3f}",
                    f"{fmean(each.latency_percents):+.1f} %",
                    f"{fmean(each.cpu_percents):+.1f} %",
                )
                for name, entry in found.items()
                for each in [Overhead(**entry)]
            ),
            ("GeoBroker 2020", "4.08", "3.79", f"{PAPER_PERCENT:+.1f} %", ""),
        ],
    )


def _index(manifest: dict[str, Any], name: str, rounds: int) -> Iterator[str]:
    yield "## The index: figures 7 and 8 of GeoBroker 2020"
    yield ""
    yield (
        f"{manifest['plan']['index_seconds']:g} s of processor time for each point, one thread, "
        f"the mean of {rounds} rounds; the same code as `make bench-index`."
    )
    yield ""
    for each in ("granularity", "geo-or-not"):
        yield from picture(each, f"{name}-{each}.png")


def _title(row: CaseFigures) -> str:
    return TITLES[row.system]


def _case(row: CaseFigures) -> tuple[str, str]:
    return _title(row), f"{row.clients}" + (" teleporting" if row.kind == "teleport" else "")


def _load(rows: list[CaseFigures]) -> Iterator[str]:
    yield "## Deliveries, loss, processor"
    yield ""
    yield (
        "*Lost*: with places, deliveries that the oracle calls due and nobody got; without, "
        "published × clients less what came in. *Late*: arrivals more than a second behind the "
        "client's own schedule. *Unfinished*: clients that still waited for an answer 20 s "
        "after the end."
    )
    yield ""
    yield from table(
        (
            *("", "clients", "published", "deliveries", "relevant", "lost", "late", "unfinished"),
            *("broker cores", "client cores", "load of the machine"),
        ),
        (
            (
                *_case(row),
                f"{row.published:,}",
                f"{row.deliveries:,}",
                f"{row.relevant:,}",
                f"{row.lost:,} ({row.lost / max(row.expected, 1):.1%})",
                f"{row.late:,}",
                str(row.unfinished),
                f"{row.broker_cpu_s / row.seconds:.2f}",
                f"{row.clients_cpu_s / row.seconds:.2f}",
                f"{row.load:.1f}",
            )
            for row in rows
        ),
    )


def _latencies(rows: list[CaseFigures]) -> Iterator[str]:
    yield "## Latencies: mean (99th percentile), ms"
    yield ""
    names = ("connect", "ping", "subscribe", "publish", "delivery")
    yield from table(
        ("", "clients", *names),
        (
            (
                *_case(row),
                *(_spread(row.latencies.get(each)) for each in names),
            )
            for row in rows
        ),
    )


def _spread(found: dict[str, float] | None) -> str:
    return f"{found['mean']:.2f} ({found['p99']:.1f})" if found else "–"


def _agreement(rows: list[CaseFigures]) -> Iterator[str]:
    yield "## Against the deliveries job"
    yield ""
    yield (
        "A delivery is *due* when the job finds it whichever moment between sending and "
        "acknowledgement the broker decided in. Every recorded one is judged by the order in "
        "which the broker wrote to its receiver: it is *right* when the message lies within the "
        "radius of the place and of the subscription that were acknowledged before it (or when it "
        "is due), *undecided* when only another place that the receiver had between sending and "
        "arrival explains it, and *impossible*, which would be wrong, when none does. Between "
        "federated brokers a move is "
        f"granted {FEDERATION_GUARD_S['travel']:g} s to be known "
        f"({FEDERATION_GUARD_S['teleport']:g} s with teleporting clients)."
    )
    yield ""
    yield from table(
        (
            *("", "clients", "by", "messages", "recorded", "due", "missing"),
            *("right", "undecided", "impossible"),
        ),
        (
            (
                *_case(row),
                row.oracle,
                *(
                    f"{row.agreement[each]:,}"
                    for each in (
                        *("messages", "recorded", "due", "missing"),
                        *("right", "undecided", "impossible"),
                    )
                ),
            )
            for row in rows
            if row.agreement is not None
        ),
    )

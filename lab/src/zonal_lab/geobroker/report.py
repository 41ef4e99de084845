"""The page on GeoBroker's evaluation: the use case, the index, everything matching, verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment.pages import how_it_was_run, table, verdicts
from zonal_lab.geobroker import everything
from zonal_lab.geobroker.brokers import SYSTEMS, TITLES
from zonal_lab.geobroker.index_pictures import draw_geo_or_not, draw_granularity
from zonal_lab.geobroker.pictures import draw_growth, draw_over_time
from zonal_lab.geobroker.plan import KINDS
from zonal_lab.location.claims import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from zonal_lab.geobroker.results import CaseFigures, UseCaseResults

PAPER_PUBLISH_MS = 62.0
OVERHEAD_PERCENT = 8.0


def write_use_case_report(results: UseCaseResults, folder: Path, name: str = "geobroker") -> Path:
    """Write the page and its pictures; return the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = sorted(
        results.figures(),
        key=lambda row: (row.kind != "travel", row.clients, SYSTEMS.index(row.system)),
    )
    for clients in _travelling(rows):
        mine = [row for row in rows if row.clients == clients and row.kind == "travel"]
        draw_over_time(results, mine, folder / f"{name}-{clients}.png")
    draw_growth(rows, folder / f"{name}-growth.png")
    index = results.experiment("index")
    if index is not None:
        draw_granularity(index["granularity"], folder / f"{name}-granularity.png")
        draw_geo_or_not(index["geo or not"], folder / f"{name}-geo-or-not.png")
    page = folder / f"{name}.md"
    lines = _page(results, rows, index, name)
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return page


def _travelling(rows: list[CaseFigures]) -> list[int]:
    """The numbers of travelling clients."""
    return sorted({row.clients for row in rows if row.kind == "travel"})


def _page(
    results: UseCaseResults, rows: list[CaseFigures], index: dict[str, Any] | None, name: str
) -> Iterator[str]:
    manifest = results.manifest()
    matching = results.experiment("matching")
    yield "# GeoBroker's evaluation"
    yield ""
    yield from _introduction(manifest)
    yield from verdicts("Figures to reach", _figures(rows, matching))
    yield from verdicts("The claims of the paper (section 5.3)", _claims(rows))
    yield f"![by the number of clients]({name}-growth.png)"
    yield ""
    yield from _load(rows)
    yield from _latencies(rows)
    yield from _agreement(rows)
    for clients in _travelling(rows):
        yield f"![{clients} clients over time]({name}-{clients}.png)"
        yield ""
    if matching is not None:
        yield from _matching(matching)
    if index is not None:
        yield from _index(index, manifest, name)
    yield from how_it_was_run(manifest)


def _introduction(manifest: dict[str, Any]) -> Iterator[str]:
    plan = manifest["plan"]
    yield (
        f"{plan['seconds']:g} s a case (the paper: 25 minutes). Every client travels a trajectory "
        f"({manifest.get('journeys', '?')}, by the pipeline's workload job where it is Geolife; by "
        "increasing identifier, by its own time stamps, from the start again at its end; where "
        "there are more clients than trajectories, the same ones begun elsewhere). A teleporting "
        f"client ({plan['teleport_seconds']:g} s a case) is at its next place as soon as its "
        "message is acknowledged, so these cases show what a system can do. At each place a "
        "client updates its location, moves its subscription (a circle of 0.01°) and publishes "
        "750 bytes with a geofence of 0.01° (QoS 1), each after the "
        "acknowledgement of the one before. Without places it subscribes once and only publishes, "
        "as in the paper, and throws away what is too far. Clients set out within the first "
        f"{plan['ramp_s']:g} s; {plan['processes']} process(es) carry them all, on the same two "
        "cores as the broker, over loopback."
    )
    yield ""
    for each in (*manifest.get("remarks", ()), *manifest.get("failures", ())):
        yield f"- {each}"
    yield ""


def _matching(found: dict[str, Any]) -> Iterator[str]:
    yield "## Everything matches"
    yield ""
    resting = found["resting"]
    yield (
        f"{everything.CLIENTS} clients that all hear everything, {everything.RATE_HZ:g} messages a "
        f"second of {everything.SIZE} bytes, with locations and geofences around all of them; the "
        "same messages in turn at a broker with places and at one without, "
        f"{resting['rounds']} rounds, {resting['deliveries']:,} deliveries. While nobody moves the "
        "broker remembers who hears whom; *moving* clients update their location before each "
        "message, which the broker without places ignores. Mean delivery latency, the median of "
        "the rounds."
    )
    yield ""
    yield from table(
        ("clients", "with places, ms", "without, ms", "latency", "processor time of the broker"),
        [
            *(
                (
                    name,
                    f"{each['geo_ms']:.3f}",
                    f"{each['no_geo_ms']:.3f}",
                    f"{each['latency_percent']:+.1f} %",
                    f"{each['cpu_percent']:+.1f} %",
                )
                for name, each in found.items()
            ),
            ("the paper", "4.08", "3.79", f"{everything.PAPER_PERCENT:+.1f} %", ""),
        ],
    )


def _index(index: dict[str, Any], manifest: dict[str, Any], name: str) -> Iterator[str]:
    claims = [Verdict(**each) for each in index["claims"]]
    yield from verdicts("The index: the paper's figures 7 and 8", claims)
    yield (
        f"{manifest['plan']['index_seconds']:g} s of processor time for each point, one thread; "
        "the same code as `make bench-index`, which [describes the index](../../index.md)."
    )
    yield ""
    for picture in ("granularity", "geo-or-not"):
        yield f"![{picture}]({name}-{picture}.png)"
        yield ""


def _named(rows: list[CaseFigures], system: str) -> list[CaseFigures]:
    """The cases of a system under travelling clients."""
    return [row for row in rows if row.system == system and row.kind == "travel"]


def _figures(rows: list[CaseFigures], matching: dict[str, Any] | None) -> Iterator[Verdict]:
    if matching is not None:
        yield Verdict(
            "TARGETS B",
            f"everything matches: places cost at most {OVERHEAD_PERCENT:g} % of latency",
            matching["resting"]["latency_percent"] <= OVERHEAD_PERCENT,
            "; ".join(
                f"{name} clients {each['latency_percent']:+.1f} %, processor time "
                f"{each['cpu_percent']:+.1f} %"
                for name, each in matching.items()
            ),
        )
    for row in rows:
        if row.system not in {"geo", "federated"}:
            continue
        what = f"{_title(row)}, {row.clients} {KINDS[row.kind]} clients"
        found = row.agreement or {}
        yield Verdict(
            "TARGETS B",
            f"{what}: nothing lost, deliveries equal to the oracle's",
            not any(found.get(each, 1) for each in ("missing", "doubled", "impossible")),
            f"{found.get('recorded')} recorded, {found.get('due')} due: {found.get('missing')} "
            f"missing, {found.get('doubled')} doubled, {found.get('impossible')} impossible",
        )
        if row.kind != "travel":
            continue
        mean = row.latencies["publish"]["mean"]
        yield Verdict(
            "TARGETS B",
            f"{what}: mean publish latency below {PAPER_PUBLISH_MS:g} ms",
            mean < PAPER_PUBLISH_MS,
            f"{mean:.2f} ms, 99th percentile {row.latencies['publish']['p99']:.1f} ms",
        )


def _claims(rows: list[CaseFigures]) -> Iterator[Verdict]:
    without = {row.clients: row for row in _named(rows, "no-geo")}
    for row in _named(rows, "geo"):
        other = without.get(row.clients)
        if other is None:
            continue
        excess = 1 - (row.deliveries / row.published) / max(
            other.deliveries / other.published, 1e-9
        )
        yield Verdict(
            "5.3",
            f"{row.clients} clients: more than 60 % of what is sent without places is of no use",
            excess > 0.6,
            f"{row.deliveries / row.published:.1f} deliveries a message with places, "
            f"{other.deliveries / other.published:.1f} without: {excess:.1%} too many",
        )
        mine, theirs = row.latencies["publish"]["mean"], other.latencies["publish"]["mean"]
        yield Verdict(
            "5.3",
            f"{row.clients} clients: publish latency with places is lower than without",
            mine < theirs,
            f"{mine:.2f} against {theirs:.2f} ms",
        )


def _title(row: CaseFigures) -> str:
    return TITLES[row.system]  # type: ignore[index] # a system


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
        "acknowledgement the broker decided in; *undecided* ones came in while the sender or the "
        "receiver was moving, and a place that the receiver had between sending and arrival "
        "explains them; *impossible* ones would be wrong. Between federated brokers a move may "
        "take a quarter of a second to be known (half a second where teleporting clients leave no "
        "processor idle), so more are undecided there. Teleporting clients go on as soon as their "
        "own broker has acknowledged, and so send more than two brokers on two cores can deliver: "
        "at the second one messages wait, for a second and more, and are decided by where clients "
        "are then. What such a wait makes of a delivery that was due is counted as missing."
    )
    yield ""
    yield from table(
        ("", "clients", "by", "messages", "recorded", "due", "missing", "undecided", "impossible"),
        (
            (
                *_case(row),
                row.oracle,
                *(
                    f"{row.agreement[each]:,}"
                    for each in (
                        *("messages", "recorded", "due", "missing", "undecided", "impossible"),
                    )
                ),
            )
            for row in rows
            if row.agreement is not None
        ),
    )

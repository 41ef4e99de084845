"""What the GeoBroker paper says, and our own figures to reach, judged by the use cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment import OURS, Verdict
from zonal_lab.geobroker.brokers import TITLES
from zonal_lab.geobroker.plan import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from zonal_lab.geobroker.samples import CaseFigures

PAPER_PUBLISH_MS = 62.0
OVERHEAD_PERCENT = 8.0


def _named(rows: list[CaseFigures], system: str) -> list[CaseFigures]:
    """The cases of a system under travelling clients."""
    return [row for row in rows if row.system == system and row.kind == "travel"]


def our_figures(rows: list[CaseFigures], matching: dict[str, Any] | None) -> Iterator[Verdict]:
    """Deliveries, loss and latency, and what places cost where everything matches."""
    if matching is not None:
        yield Verdict(
            OURS,
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
        what = f"{TITLES[row.system]}, {row.clients} {KINDS[row.kind]} clients"
        found = row.agreement or {}
        yield Verdict(
            OURS,
            f"{what}: nothing lost, deliveries equal to the oracle's",
            not any(found.get(each, 1) for each in ("missing", "doubled", "impossible")),
            f"{found.get('recorded')} recorded, {found.get('due')} due: {found.get('missing')} "
            f"missing, {found.get('doubled')} doubled, {found.get('impossible')} impossible",
        )
        if row.kind != "travel":
            continue
        mean = row.latencies["publish"]["mean"]
        yield Verdict(
            OURS,
            f"{what}: mean publish latency below {PAPER_PUBLISH_MS:g} ms",
            mean < PAPER_PUBLISH_MS,
            f"{mean:.2f} ms, 99th percentile {row.latencies['publish']['p99']:.1f} ms",
        )


def paper_claims(rows: list[CaseFigures]) -> Iterator[Verdict]:
    """What the paper concludes in section 5.3."""
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

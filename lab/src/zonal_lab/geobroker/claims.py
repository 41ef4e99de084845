"""What GeoBroker 2020 says, and our own figures to reach, as functions of rounds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from zonal_lab.experiment import OURS, Claim, Unit, change
from zonal_lab.geobroker.brokers import TITLES
from zonal_lab.geobroker.everything_matches import PAPER_PERCENT, Overhead
from zonal_lab.geobroker.plan import KINDS, MatchingCase
from zonal_lab.geobroker.samples import read_figures, read_index, read_part
from zonal_lab.index import geo_claims, granularity_claims, workload_claims

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from zonal_lab.experiment import Draw, Results
    from zonal_lab.geobroker.brokers import System
    from zonal_lab.geobroker.samples import CaseFigures

    Value = Callable[[CaseFigures], float]

WORK = "GeoBroker 2020"
PAPER_PUBLISH_MS = 62.0
OVERHEAD_PERCENT = 8.0
DECIDED_PERCENT = 95.0
_CLIENTS = (250, 500, 750, 1000)
_MESSAGES = {250: (3.6, 9.4), 500: (8.9, 39.0)}
"""Millions of messages that their broker delivered, with and without places."""
_LOST = {750: 22.5, 1000: 45.1}
"""Per cent of the messages that theirs lost without places."""
CARRIED_PERCENT = 1.0
"""A load is carried when no more than this misses its time."""


def claims(results: Results) -> Iterator[Claim]:
    """All claims: on deliveries, on places that filter nothing, on the index."""
    table, speed = UseCaseClaims(results), results.manifest()["plan"]["speed"]
    yield from _at_speed(table.ours(), speed)
    if speed > 1:
        yield from _at_speed(table.overload(), speed)
    yield from _matching(results)
    yield from _at_speed(table.published(), speed)
    index = read_index(results)
    yield from workload_claims([each["workload"] for each in index if each.get("workload")])
    for clients in (10, 1000):
        rounds = [each["granularity"][f"clients {clients}"] for each in index]
        yield from granularity_claims(rounds, clients)
    for way in ("answers collected", "answers remembered"):
        yield from geo_claims([each["geo or not"][way] for each in index], way)


def _at_speed(claims: Iterable[Claim], speed: float) -> Iterator[Claim]:
    """Claims on clients that were made faster say so."""
    for each in claims:
        yield each if speed == 1 else replace(each, where=f"{each.where}, {speed:g} times as fast")


class UseCaseClaims:
    """Claims on the figures of use cases, round by round."""

    def __init__(self, results: Results) -> None:
        self._rows: dict[tuple[str, str, int], list[CaseFigures]] = defaultdict(list)
        for row in read_figures(results):
            self._rows[row.system, row.kind, row.clients].append(row)

    def _mean(self, draw: Draw, system: str, clients: int, value: Value) -> float:
        return draw([value(row) for row in self._rows[system, "travel", clients]])

    # ---- ours -----------------------------------------------------------------------------

    def ours(self) -> Iterator[Claim]:
        """Nothing lost, nothing wrong, and a publish latency below theirs; a claim a case."""
        known = dict.fromkeys((kind, clients) for _, kind, clients in self._rows)
        for kind, clients in known or {("travel", each): None for each in _CLIENTS}:
            for system in ("geo", "federated"):
                rows = self._rows[system, kind, clients]
                where = f"{TITLES[system]}, {clients} {KINDS[kind]} clients"
                yield _agrees(rows, where)
                yield Claim(
                    OURS, where, f"at least {DECIDED_PERCENT:g} % of the recorded deliveries are "
                    "found right or wrong", "", Unit.SHARE, _series(rows, _decided),
                    least=DECIDED_PERCENT,
                )  # fmt: skip
                if kind == "travel":
                    yield Claim(
                        OURS, where, f"mean publish latency below {PAPER_PUBLISH_MS:g} ms",
                        "62 ms (750 clients, 4 cores)", Unit.MS, _series(rows, _publish_ms),
                        most=PAPER_PUBLISH_MS,
                    )  # fmt: skip

    def overload(self) -> Iterator[Claim]:
        """Clients made faster, until a broker without places cannot carry what one with them does.

        By what the journeys ask for: clients wait for each answer, so that a broker that is too
        slow makes them late, and nothing of what they do send is lost.
        """
        for clients, lost in _LOST.items():
            theirs = f"{lost} % lost (one core)"
            for words, value in (
                ("of the arrivals due are not made in time", _arrivals_missed),
                ("of the deliveries due have not come when the time is over", _deliveries_missed),
            ):
                yield replace(
                    self._at_load("no-geo", clients, f"at least {lost} % {words}", value),
                    theirs=theirs, least=lost,
                )  # fmt: skip
                yield replace(
                    self._at_load("geo", clients, f"{CARRIED_PERCENT:g} % at most {words}", value),
                    most=CARRIED_PERCENT,
                )

    def _at_load(self, system: System, clients: int, text: str, value: Value) -> Claim:
        where = f"{TITLES[system]}, {clients} travelling clients"
        figure = _series(self._rows[system, "travel", clients], value)
        return Claim(OURS, where, f"overload: {text}", "", Unit.SHARE, figure)

    # ---- GeoBroker 2020 -------------------------------------------------------------------

    def published(self) -> Iterator[Claim]:
        """Section 5.3."""
        for clients in _CLIENTS:
            theirs = ""
            if clients in _MESSAGES:
                geo, plain = _MESSAGES[clients]
                theirs = f"{100 * (1 - geo / plain):.0f} %"
            yield Claim(
                WORK, "5.3", f"{clients} clients: more than 60 % of what is delivered without "
                "places has no relevance", theirs, Unit.SHARE, self._useless(clients), least=60,
            )  # fmt: skip
            yield Claim(
                WORK, "5.3, figures 9 to 11",
                f"{clients} clients: publish latency is lower with places than without", "lower",
                Unit.CHANGE, self._faster(clients), most=0, neutral=0,
            )  # fmt: skip
        for clients, lost in _LOST.items():
            yield Claim(
                WORK, "5.3", f"{clients} clients without places overload the broker, which loses "
                f"at least {lost} %", f"{lost} % (one core)", Unit.SHARE,
                self._lost(clients), least=lost, neutral=0,
            )  # fmt: skip

    def _useless(self, clients: int) -> Callable[[Draw], float]:
        def figure(draw: Draw) -> float:
            geo, plain = (
                self._mean(draw, system, clients, lambda row: row.deliveries / row.published)
                for system in ("geo", "no-geo")
            )
            return -change(geo, plain)

        return figure

    def _faster(self, clients: int) -> Callable[[Draw], float]:
        return lambda draw: change(
            self._mean(draw, "geo", clients, _publish_ms),
            self._mean(draw, "no-geo", clients, _publish_ms),
        )

    def _lost(self, clients: int) -> Callable[[Draw], float]:
        return lambda draw: self._mean(
            draw, "no-geo", clients, lambda row: 100 * row.lost / max(row.expected, 1)
        )


def _series(rows: list[CaseFigures], value: Value) -> Callable[[Draw], float]:
    return lambda draw: draw([value(row) for row in rows])


def _agrees(rows: list[CaseFigures], where: str) -> Claim:
    return Claim(
        OURS, where, "no delivery missing, doubled or impossible by the oracle (in all rounds)",
        "", Unit.COUNT, lambda draw: len(rows) * draw([_wrong(row) for row in rows]),
        most=0, exact=True,
    )  # fmt: skip


def _wrong(row: CaseFigures) -> int:
    found = row.agreement or {}
    return sum(found[each] for each in ("missing", "doubled", "impossible"))


def _decided(row: CaseFigures) -> float:
    found = row.agreement or {}
    return 100 * (1 - found["undecided"] / max(found["recorded"], 1))


def _publish_ms(row: CaseFigures) -> float:
    return row.latencies["publish"]["mean"]


def _arrivals_missed(row: CaseFigures) -> float:
    return 100 * row.arrivals_missed


def _deliveries_missed(row: CaseFigures) -> float:
    return 100 * row.deliveries_missed


def _matching(results: Results) -> Iterator[Claim]:
    found = read_part(results, MatchingCase().name) or {}
    for who in ("resting", "moving"):
        series = Overhead(**found[who]).latency_percents if who in found else []
        yield Claim(
            OURS, "everything matches",
            f"{who} clients: places cost at most {OVERHEAD_PERCENT:g} % of latency",
            f"{PAPER_PERCENT:+.1f} %", Unit.CHANGE, lambda draw, mine=series: draw(mine),  # type: ignore[misc] # its own
            most=OVERHEAD_PERCENT,
        )  # fmt: skip

"""The claims of Visotto 2023 and Visotto and Mottola 2024, and our own, as functions of rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment import OURS, Claim, Unit, change
from zonal_lab.location.false_positives import EXPECTED
from zonal_lab.location.movement import movement_claims
from zonal_lab.location.overload import overload_claims
from zonal_lab.location.plan import FINE_BLOOM, FalsePositivesCase
from zonal_lab.location.rounds import Rounds
from zonal_lab.location.summary import Condition
from zonal_lab.location.techniques import BASELINES, BLOOM_PROBABILITY, LOCATION_AWARE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from zonal_lab.experiment import Draw, Results

THESIS = "Visotto 2023"
ENCODINGS = ("json", "mgrs", "bloom")
EVERY = (*BASELINES, *ENCODINGS)
PUBLISHED = ("zoning", "near-field", "far-field")
_SUFFERS = 5.0
"""A throughput that is lower by up to so many per cent "does not suffer"."""


def claims(results: Results) -> Iterator[Claim]:
    """All claims, ours first."""
    rounds = Rounds(results)
    table = ClaimTable(rounds)
    yield from table.ours()
    yield from overload_claims(rounds)
    yield from movement_claims(results)
    yield from table.zoning()
    yield from table.near_field()
    yield from table.far_field()
    yield from table.slow_routers()
    yield from table.udp()
    yield from table.bloom(results)


class ClaimTable:
    """Claims on the figures of rounds."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds

    # ---- numbers --------------------------------------------------------------------------

    def _means(
        self, draw: Draw, scenario: str, techniques: Iterable[str], name: str = "mean_ms"
    ) -> list[float]:
        """Over TCP with full routers, whole runs."""
        condition = Condition(scenario, "tcp", 100)
        return [draw(self._rounds.of(condition, each, name)) for each in techniques]

    def _ratios(
        self, draw: Draw, scenario: str, ours: tuple[str, int], base: tuple[str, int], name: str
    ) -> list[float]:
        """Change of every technique between two conditions, by what both of them measured."""
        one, other = Condition(scenario, *ours), Condition(scenario, *base)
        return [
            change(
                draw(self._rounds.beginning(one, each, name)),
                draw(self._rounds.beginning(other, each, name)),
            )
            for each in EVERY
        ]

    def _against(
        self,
        scenario: str,
        ours: tuple[tuple[str, ...], Callable[[list[float]], float]],
        base: tuple[tuple[str, ...], Callable[[list[float]], float]],
        name: str = "mean_ms",
    ) -> Callable[[Draw], float]:
        """The change from the one extreme to the other, in per cent."""

        def figure(draw: Draw) -> float:
            mine = ours[1](self._means(draw, scenario, ours[0], name))
            return change(mine, base[1](self._means(draw, scenario, base[0], name)))

        return figure

    # ---- our own --------------------------------------------------------------------------

    def ours(self) -> Iterator[Claim]:
        """Our figures to reach, on TCP with full routers."""
        slowest = (LOCATION_AWARE, max)
        yield Claim(
            OURS, "zoning",
            "the slowest encoding's latency at least 90 % below the better baseline", "",
            Unit.CHANGE, self._against("zoning", slowest, (BASELINES, min)), most=-90, neutral=0,
        )  # fmt: skip
        yield Claim(
            OURS, "near-field", "s2 and mgrs at most 10 % slower than PAYLOAD", "",
            Unit.CHANGE, self._against("near-field", (("s2", "mgrs"), max), (("PAYLOAD",), max)),
            most=10,
        )  # fmt: skip
        yield Claim(
            OURS, "far-field", "the slowest encoding faster than the better baseline", "",
            Unit.CHANGE, self._against("far-field", slowest, (BASELINES, min)), most=0, neutral=0,
        )  # fmt: skip
        yield Claim(
            OURS, "zoning, near- and far-field",
            "sessions that do not match receive nothing with s2, mgrs and json (messages a round)",
            "", Unit.COUNT, self._unwanted, most=0, exact=True,
        )  # fmt: skip
        yield Claim(
            OURS, "zoning, near- and far-field",
            f"with bloom they receive at most {BLOOM_PROBABILITY:.0%} of what is not theirs", "",
            Unit.SHARE, self._unwanted_bloom, most=100 * BLOOM_PROBABILITY, exact=True,
        )  # fmt: skip

        for scenario in ("spread", "moving"):
            yield Claim(
                OURS, scenario, "the slowest encoding faster than the better baseline", "",
                Unit.CHANGE, self._against(scenario, slowest, (BASELINES, min)), most=0, neutral=0,
            )  # fmt: skip
            for name in LOCATION_AWARE:
                yield self._few_in_vain(scenario, name)

    def _few_in_vain(self, scenario: str, technique: str) -> Claim:
        condition = Condition(scenario, "tcp", 100)

        def figure(draw: Draw) -> float:
            vain, delivered = (
                draw(self._rounds.of(condition, technique, each))
                for each in ("unwanted", "delivered")
            )
            return 100 * vain / (vain + delivered)

        return Claim(
            OURS, scenario,
            f"{technique}: of a hundred messages that reach a session at most 25 come in vain", "",
            Unit.SHARE, figure, most=25,
        )  # fmt: skip

    def _unwanted(self, draw: Draw) -> float:
        return sum(
            draw(self._rounds.all_rounds(PUBLISHED, each, "astray"))
            for each in ("s2", "mgrs", "json")
        )

    def _unwanted_bloom(self, draw: Draw) -> float:
        unwanted, others = (
            draw(self._rounds.all_rounds(PUBLISHED, "bloom", name))
            for name in ("astray", "for_others")
        )
        return 100 * unwanted / others if others else 0.0

    # ---- 7.3 to 7.5 -----------------------------------------------------------------------

    def zoning(self) -> Iterator[Claim]:
        """Section 7.3."""
        yield Claim(
            THESIS, "7.3, figure 7.2",
            "zoning: latency at least 50 % below both baselines, by the slowest encoding",
            "about −50 %", Unit.CHANGE,
            self._against("zoning", (ENCODINGS, max), (BASELINES, min)), most=-50, neutral=0,
        )  # fmt: skip
        yield Claim(
            THESIS, "7.3, figure 7.3",
            "zoning: throughput above both baselines', by the lowest encoding", "higher",
            Unit.CHANGE,
            self._against("zoning", (ENCODINGS, min), (BASELINES, max), "throughput_hz"),
            least=0, neutral=0,
        )  # fmt: skip
        yield Claim(
            THESIS, "7.3, figure 7.4",
            "zoning: the steadier baseline deviates at least 53 % more than the least steady "
            "encoding", "about +53 %", Unit.CHANGE,
            self._against("zoning", (BASELINES, min), (ENCODINGS, max), "std_ms"),
            least=53, neutral=0,
        )  # fmt: skip

    def near_field(self) -> Iterator[Claim]:
        """Section 7.4."""
        yield Claim(
            THESIS, "7.4, figure 7.6",
            "near-field: every encoding slower than PAYLOAD (the fastest one)", "up to +70 %",
            Unit.CHANGE, self._against("near-field", (ENCODINGS, min), (("PAYLOAD",), min)),
            least=0, most=70, neutral=0,
        )  # fmt: skip
        yield Claim(
            THESIS, "7.4, figure 7.7",
            "near-field: MGRS at least 40 % below the better of Base64 and Bloom", "−40 %",
            Unit.CHANGE, self._against("near-field", (("mgrs",), min), (("json", "bloom"), min)),
            most=-40, neutral=0,
        )  # fmt: skip
        yield Claim(
            THESIS, "7.4, figure 7.8",
            f"near-field: the lowest encoding's throughput at most {_SUFFERS:g} % below the "
            "better baseline's", "remains good", Unit.CHANGE,
            self._against("near-field", (ENCODINGS, min), (BASELINES, max), "throughput_hz"),
            least=-_SUFFERS,
        )  # fmt: skip
        yield Claim(
            THESIS, "7.4, figure 7.9",
            "near-field: the steadiest encoding deviates more than both baselines", "higher",
            Unit.CHANGE, self._against("near-field", (ENCODINGS, min), (BASELINES, max), "std_ms"),
            least=0, neutral=0,
        )  # fmt: skip

    def far_field(self) -> Iterator[Claim]:
        """Section 7.5."""
        for base, size in (("TOPIC", 55), ("PAYLOAD", 20)):
            yield Claim(
                THESIS, "7.5, figure 7.12; paper",
                f"far-field: the slowest encoding at least {size} % below {base}", f"−{size} %",
                Unit.CHANGE, self._against("far-field", (ENCODINGS, max), ((base,), min)),
                most=-size, neutral=0,
            )  # fmt: skip
        for faster, slower in (("mgrs", "bloom"), ("bloom", "json")):
            yield Claim(
                THESIS, "7.5", f"far-field: {faster} is faster than {slower}",
                "MGRS, Bloom, Base64", Unit.CHANGE,
                self._against("far-field", ((faster,), min), ((slower,), min)), most=0, neutral=0,
            )  # fmt: skip
        yield Claim(
            THESIS, "7.5, figure 7.13",
            f"far-field: the lower baseline's throughput at most {_SUFFERS:g} % below the best "
            "encoding's", "not reduced", Unit.CHANGE,
            self._against("far-field", (BASELINES, min), (ENCODINGS, max), "throughput_hz"),
            least=-_SUFFERS,
        )  # fmt: skip
        yield Claim(
            THESIS, "7.5, figure 7.14",
            "far-field: the steadier baseline deviates more than the least steady encoding",
            "higher", Unit.CHANGE,
            self._against("far-field", (BASELINES, min), (ENCODINGS, max), "std_ms"),
            least=0, neutral=0,
        )  # fmt: skip

    # ---- 7.6, 7.7 -------------------------------------------------------------------------

    def slow_routers(self) -> Iterator[Claim]:
        """Section 7.6: routers at 20 %."""

        def near(name: str) -> Callable[[Draw], float]:
            return lambda draw: min(self._ratios(draw, "near-field", ("tcp", 20), FULL, name))

        yield Claim(
            THESIS, "7.6, figure 7.15", "routers at 20 %, near-field: every latency rises",
            "higher", Unit.CHANGE, near("mean_ms"), least=0, neutral=0,
        )  # fmt: skip
        yield Claim(
            THESIS, "7.6, figure 7.16",
            f"routers at 20 %, near-field: no throughput falls by more than {_SUFFERS:g} %",
            "no significant variations", Unit.CHANGE, near("throughput_hz"), least=-_SUFFERS,
        )  # fmt: skip
        yield Claim(
            THESIS, "7.6, figure 7.17", "routers at 20 %, near-field: every deviation rises",
            "higher", Unit.CHANGE, near("std_ms"), least=0, neutral=0,
        )  # fmt: skip
        yield Claim(
            THESIS, "7.6, figure 7.18",
            "routers at 20 %, far-field: Base64 and Bloom slow down more than any other (by "
            "points of their own latency)", "more", Unit.POINTS, self._heavier, least=0, neutral=0,
        )  # fmt: skip
        yield Claim(
            THESIS, "7.6, figure 7.20",
            "routers at 20 %, far-field: every deviation falls in proportion to its latency",
            "lower", Unit.CHANGE, self._steadier, most=0, neutral=0,
        )  # fmt: skip

    def _heavier(self, draw: Draw) -> float:
        ratios = self._ratios(draw, "far-field", ("tcp", 20), FULL, "mean_ms")
        found = dict(zip(EVERY, ratios, strict=True))
        return min(found["json"], found["bloom"]) - max(found[n] for n in (*BASELINES, "mgrs"))

    def _steadier(self, draw: Draw) -> float:
        means = self._ratios(draw, "far-field", ("tcp", 20), FULL, "mean_ms")
        deviations = self._ratios(draw, "far-field", ("tcp", 20), FULL, "std_ms")
        both = zip(deviations, means, strict=True)
        return max(change(1 + each / 100, 1 + mean / 100) for each, mean in both)

    def udp(self) -> Iterator[Claim]:
        """Section 7.7."""
        parts = (("near-field", 100, "7.21", "7.23"), ("far-field", 20, "7.24", "7.26"))
        for scenario, cpu, latency, deviation in parts:
            for name, figure, what in (
                ("mean_ms", latency, "latency"),
                ("std_ms", deviation, "deviation"),
            ):
                yield Claim(
                    THESIS, f"7.7, figure {figure}",
                    f"UDP, {scenario}, routers at {cpu} %: every {what} below that over TCP",
                    "lower", Unit.CHANGE, self._over_udp(scenario, cpu, name), most=0, neutral=0,
                )  # fmt: skip
        near, far = Condition("near-field", "udp", 100), Condition("far-field", "udp", 20)
        yield Claim(
            THESIS, "7.7, figure 7.22",
            "UDP, near-field: Base64 and Bloom lose more of their messages than MGRS", "most",
            Unit.POINTS, lambda draw: self._lost_more(draw, near), least=0, neutral=0,
        )  # fmt: skip
        yield Claim(
            THESIS, "7.7, figure 7.25",
            "UDP, far-field, routers at 20 %: MGRS has the highest throughput", "highest",
            Unit.CHANGE, lambda draw: self._mgrs_first(draw, far), least=0, neutral=0,
        )  # fmt: skip

    def _over_udp(self, scenario: str, cpu: int, name: str) -> Callable[[Draw], float]:
        return lambda draw: max(self._ratios(draw, scenario, ("udp", cpu), ("tcp", cpu), name))

    def _lost_more(self, draw: Draw, condition: Condition) -> float:
        lost = {n: 100 * draw(self._rounds.of(condition, n, "loss")) for n in ENCODINGS}
        return min(lost["json"], lost["bloom"]) - lost["mgrs"]

    def _mgrs_first(self, draw: Draw, condition: Condition) -> float:
        rates = {n: draw(self._rounds.of(condition, n, "throughput_hz")) for n in EVERY}
        return change(rates.pop("mgrs"), max(rates.values()))

    # ---- 7.8 ------------------------------------------------------------------------------

    def bloom(self, results: Results) -> Iterator[Claim]:
        """Section 7.8: false positives, and filters of 1 %."""
        name = FalsePositivesCase().name
        rows = [row for record in results.records() if record.name == name
                for row in record.figures["rows"]]  # fmt: skip

        def positives(percent: int) -> Callable[[Draw], float]:
            def figure(_: Draw) -> float:
                found = [row for row in rows if round(100 * row["probability"]) == percent]
                if not found:
                    raise LookupError(f"{percent} %")
                return float(sum(found[0]["by_filter"].values()) - sum(EXPECTED.values()))

            return figure

        for percent, theirs in ((1, 0), (10, 0), (20, 0), (25, 0), (30, 1), (40, 5)):
            yield Claim(
                THESIS, "7.8, table 7.4",
                f"a probability of {percent} % gives {theirs} false positives in 600 decisions",
                str(theirs), Unit.COUNT, positives(percent),
                least=theirs, most=theirs, neutral=0, exact=True,
            )  # fmt: skip
        yield Claim(
            THESIS, "7.8, figure 7.28", "far-field: Bloom filters of 1 % are slower than of 25 %",
            "significantly higher", Unit.CHANGE,
            self._against("far-field", ((FINE_BLOOM,), min), (("bloom",), min)),
            least=0, neutral=0,
        )  # fmt: skip


FULL = ("tcp", 100)

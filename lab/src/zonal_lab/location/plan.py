"""What is to be run: scenarios × transports × processor shares × techniques, in rounds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal, get_args

from zonal_lab.errors import PlanError
from zonal_lab.experiment import in_turn, require_known
from zonal_lab.location.techniques import TECHNIQUES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal_lab.experiment import Routers
    from zonal_lab.location.techniques import TechniqueName

Transport = Literal["tcp", "udp"]
TRANSPORTS: tuple[Transport, ...] = get_args(Transport)
SCENARIOS = ("zoning", "near-field", "far-field", "spread", "moving")
CPU_PERCENT = (100, 20)
# Figure 7.28: the far-field with a probability of 1 % instead of 25 %.
FINE_BLOOM = "bloom-1"
FINE_BLOOM_IN = ("far-field", "tcp", 100)
_UNCHANGED: tuple[Transport, int] = ("tcp", 100)
_CLAIMED: dict[str, tuple[tuple[Transport, int], ...]] = {
    "near-field": (_UNCHANGED, ("tcp", 20), ("udp", 100)),
    "far-field": (_UNCHANGED, ("tcp", 20), ("udp", 20)),
}
"""Conditions that a claim is about; elsewhere the unchanged ones alone."""


@dataclass(frozen=True)
class LocationCase:
    """One run of one technique under one set of conditions."""

    scenario: str
    transport: Transport
    cpu_percent: int
    technique: str
    round: int

    @property
    def name(self) -> str:
        """Conditions, technique and round."""
        conditions = f"{self.scenario}-{self.transport}-{self.cpu_percent}"
        return f"{conditions}-{self.technique}-{self.round}"


@dataclass(frozen=True)
class FalsePositivesCase:
    """The false positives of Bloom filters (section 7.8), which need no emulated network."""

    name: str = "false-positives"


@dataclass(frozen=True)
class LocationPlan:
    """A whole evaluation; that of Visotto 2023 is 12 rounds of 180 s.

    `variant_seconds` shortens the runs over UDP and with slow routers (sections 7.6 and 7.7), of
    which there are three times as many. Conditions of different length are compared by the first
    `variant_seconds` of each. `claimed_only` leaves out conditions that no claim is about.
    """

    rounds: int = 12
    seconds: float = 180.0
    scenarios: tuple[str, ...] = SCENARIOS
    transports: tuple[Transport, ...] = TRANSPORTS
    cpu_percents: tuple[int, ...] = CPU_PERCENT
    techniques: tuple[TechniqueName, ...] = TECHNIQUES
    client_links: Literal["trace", "plain"] = "trace"
    variant_seconds: float | None = None
    routers: Routers = "library"
    claimed_only: bool = False
    seed: int = 1

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.seconds <= 0:
            raise PlanError(
                f"a plan needs rounds and seconds above 0, not {self.rounds}, {self.seconds}"
            )
        if self.variant_seconds is not None and not 0 < self.variant_seconds <= self.seconds:
            raise PlanError(
                f"variants last up to the {self.seconds:g} s of the others, not "
                f"{self.variant_seconds:g} s"
            )
        require_known("technique", self.techniques, TECHNIQUES)
        require_known("transport", self.transports, TRANSPORTS)
        for percent in self.cpu_percents:
            if not 1 <= percent <= 100:
                raise PlanError(f"cpu must be a percentage from 1 to 100, not {percent}")

    def cases(self) -> Iterator[LocationCase | FalsePositivesCase]:
        """The cases, one network after the other, then the false positives."""
        for scenario in self.scenarios:
            yield from self.cases_of(scenario)
        if "bloom" in self.techniques:
            yield FalsePositivesCase()

    def cases_of(self, scenario: str) -> Iterator[LocationCase]:
        """The cases on one network; techniques take turns, so that all meet the same machine."""
        conditions = product(range(self.rounds), self.transports, self.cpu_percents)
        for number, transport, percent in conditions:
            claimed = _CLAIMED.get(scenario, (_UNCHANGED,))
            if self.claimed_only and (transport, percent) not in claimed:
                continue
            turn: list[str] = list(in_turn(self.techniques, number))
            if (scenario, transport, percent) == FINE_BLOOM_IN and "bloom" in turn:
                turn.append(FINE_BLOOM)
            for name in turn:
                yield LocationCase(scenario, transport, percent, name, number)

    def seconds_of(self, case: LocationCase) -> float:
        """How long a case lasts."""
        if self.variant_seconds is None or (case.transport, case.cpu_percent) == _UNCHANGED:
            return self.seconds
        return self.variant_seconds

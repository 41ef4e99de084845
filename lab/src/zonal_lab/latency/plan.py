"""What is to be measured: scenarios × stacks, in rounds of echoes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal_lab.errors import PlanError
from zonal_lab.experiment import in_turn, require_known
from zonal_lab.latency.scenarios import LINKS, SCENARIOS, scenario
from zonal_lab.latency.stacks import STACKS, stack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal_lab.experiment import Routers
    from zonal_lab.latency.scenarios import Links


@dataclass(frozen=True)
class LatencyCase:
    """One round of echoes of one stack in one scenario."""

    scenario: str
    stack: str
    round: int

    @property
    def name(self) -> str:
        """Scenario, stack and round."""
        return f"{self.scenario}-{self.stack}-{self.round}"


@dataclass(frozen=True)
class LatencyPlan:
    """A whole evaluation; that of Barón 2024 is 1,000 echoes a case.

    Echoes are spread over rounds, in which the stacks take turns: what disturbs the machine
    disturbs all of them alike. MQTT's QoS 1 and 2 take up to 100 ms an echo, and everything takes
    seconds where 200 ms are added; both may be given fewer.
    """

    echoes: int = 1000
    acknowledged_echoes: int = 1000
    delayed_echoes: int = 1000
    rounds: int = 5
    size: int = 64
    links: Links = "wifi"
    scenarios: tuple[str, ...] = tuple(SCENARIOS)
    stacks: tuple[str, ...] = tuple(STACKS)
    routers: Routers = "library"
    seed: int = 1

    def __post_init__(self) -> None:
        least = min(self.echoes, self.acknowledged_echoes, self.delayed_echoes)
        if self.rounds < 1 or least < self.rounds:
            raise PlanError(
                f"every round needs an echo: {least} echoes do not fill {self.rounds} rounds"
            )
        if self.echoes // self.rounds >= 0xFFFF or self.size < 2:
            raise PlanError("a round takes fewer than 65,535 echoes of 2 bytes or more")
        require_known("links", (self.links,), LINKS)
        require_known("scenario", self.scenarios, tuple(SCENARIOS))
        require_known("stack", self.stacks, tuple(STACKS))

    def echoes_of(self, case: LatencyCase) -> int:
        """Echoes of one round of a stack in a scenario."""
        count = self.echoes if stack(case.stack).qos == 0 else self.acknowledged_echoes
        if scenario(case.scenario).delay_ms > 0:
            count = self.delayed_echoes
        return count // self.rounds

    def cases(self) -> Iterator[LatencyCase]:
        """The cases, one scenario after the other; every round begins with another stack."""
        for name in self.scenarios:
            present = [each for each in self.stacks if stack(each).fits(scenario(name))]
            for number in range(self.rounds):
                for each in in_turn(present, number):
                    yield LatencyCase(name, each, number)

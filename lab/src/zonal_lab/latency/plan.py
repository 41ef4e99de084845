"""What is to be echoed: scenarios × stacks, in rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal_lab.errors import PlanError
from zonal_lab.latency.scenarios import LINKS, SCENARIOS, scenario
from zonal_lab.latency.stacks import STACKS, stack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal_lab.latency.scenarios import Links


@dataclass(frozen=True)
class EchoCase:
    """One round of echoes of one stack in one scenario."""

    scenario: str
    stack: str
    round: int

    @property
    def name(self) -> str:
        """A name that sorts and serves as a file name."""
        return f"{self.scenario}-{self.stack}-{self.round}"


@dataclass(frozen=True)
class EchoPlan:
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

    def __post_init__(self) -> None:
        least = min(self.echoes, self.acknowledged_echoes, self.delayed_echoes)
        if self.rounds < 1 or least < self.rounds:
            raise PlanError(
                f"every round needs an echo: {least} echoes do not fill {self.rounds} rounds"
            )
        if self.echoes // self.rounds >= 0xFFFF or self.size < 2:
            raise PlanError("a round takes fewer than 65,535 echoes of 2 bytes or more")
        if self.links not in LINKS:
            raise PlanError(f"unknown links {self.links!r}; there are {', '.join(LINKS)}")
        for name in self.scenarios:
            scenario(name)
        for name in self.stacks:
            stack(name)

    def echoes_of(self, case: EchoCase) -> int:
        """Echoes of one round of a stack in a scenario."""
        count = self.echoes if stack(case.stack).qos == 0 else self.acknowledged_echoes
        if scenario(case.scenario).delay_ms > 0:
            count = self.delayed_echoes
        return count // self.rounds

    def cases(self, name: str) -> Iterator[EchoCase]:
        """The cases of one scenario; every round begins with another stack."""
        present = [each for each in self.stacks if stack(each).fits(scenario(name))]
        for number in range(self.rounds):
            shift = number % max(len(present), 1)
            for each in present[shift:] + present[:shift]:
                yield EchoCase(name, each, number)

    @property
    def count(self) -> int:
        """How many cases that is."""
        return sum(1 for name in self.scenarios for _ in self.cases(name))

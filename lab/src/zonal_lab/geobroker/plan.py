"""What is to be run: systems × numbers of clients, travelling and teleporting; two parts beside."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

from zonal_lab.errors import PlanError
from zonal_lab.experiment import in_turn, require_known
from zonal_lab.geobroker.brokers import SYSTEMS
from zonal_lab.geobroker.journeys import SEED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal_lab.geobroker.brokers import System

Kind = Literal["travel", "teleport"]
KINDS: dict[str, str] = {"travel": "travelling", "teleport": "teleporting"}


@dataclass(frozen=True)
class UseCase:
    """One system under so many clients of one kind."""

    system: System
    clients: int
    kind: Kind = "travel"
    round: int = 0

    @property
    def name(self) -> str:
        """System, clients, kind and round."""
        return case_name(self.system, self.clients, self.kind, self.round)


@dataclass(frozen=True)
class IndexCase:
    """The index alone: the paper's figures 7 and 8, once."""

    round: int = 0

    @property
    def name(self) -> str:
        """With its round."""
        return f"{INDEX}-{self.round}"


@dataclass(frozen=True)
class MatchingCase:
    """Everything matches: what the checks of places cost where they filter nothing."""

    name: str = "everything-matches"


GeobrokerCase = UseCase | IndexCase | MatchingCase


INDEX = "index"


def case_name(system: str, clients: int, kind: str, number: int) -> str:
    """The name of a use case's files."""
    return f"{system}-{clients:05}-{'teleport-' if kind == 'teleport' else ''}{number}"


@dataclass(frozen=True)
class GeobrokerPlan:
    """A whole evaluation; the paper's own is one round of 25 minutes a case."""

    rounds: int = 5
    seconds: float = 300.0
    clients: tuple[int, ...] = (250, 500, 750, 1000)
    systems: tuple[System, ...] = SYSTEMS
    ramp_s: float = 10.0
    speed: float = 1.0
    """Travelling clients go so many times as fast as they were recorded, to provoke overload."""
    processes: int = 1
    teleport: tuple[int, ...] = (250, 1000)
    """Numbers of teleporting clients; they keep a system as busy as it can be."""
    teleport_seconds: float = 60.0
    index_seconds: float = 0.0
    """For each point of the index experiments (figures 7 and 8); 0 leaves them out."""
    workload_scale: float = 0.0
    """The share of the paper's 110,000 operations on the index that are timed; 0: none."""
    matching_seconds: float = 0.0
    """For each round in which everything matches; 0 leaves it out."""
    routers: Literal["none", "zenohd"] = "none"
    """Over what federated brokers meet; without routers they are peers of one another."""
    seed: int = SEED

    def __post_init__(self) -> None:
        least = min(*self.clients, self.processes, self.rounds) if self.clients else 0
        if least < 1 or self.seconds <= 0 or self.speed <= 0:
            raise PlanError(
                "a use case needs clients, seconds, speed, rounds and processes above 0"
            )
        if self.teleport and (min(self.teleport) < 1 or self.teleport_seconds <= 0):
            raise PlanError("teleporting needs clients and seconds above 0")
        require_known("system", self.systems, SYSTEMS)

    def cases(self) -> Iterator[GeobrokerCase]:
        """The parts beside first, then round by round; every round begins with another system."""
        if self.index_seconds:
            yield from (IndexCase(number) for number in range(self.rounds))
        if self.matching_seconds:
            yield MatchingCase()
        for number in range(self.rounds):
            systems = in_turn(self.systems, number)
            for clients, system in product(self.clients, systems):
                yield UseCase(system, clients, "travel", number)
            for clients, system in product(self.teleport, systems):
                yield UseCase(system, clients, "teleport", number)

    @property
    def most_clients(self) -> int:
        """The largest number of clients in any use case."""
        return max(*self.clients, *self.teleport, 1)

    def length_s(self, case: UseCase) -> float:
        """How long a use case takes, without connecting and draining."""
        return self.seconds if case.kind == "travel" else self.teleport_seconds

"""What is to be travelled: systems × numbers of clients, travelling and teleporting."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

from zonal_lab.errors import PlanError
from zonal_lab.geobroker.brokers import SYSTEMS

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

    @property
    def name(self) -> str:
        """A name that sorts and serves as a file name."""
        return case_name(self.system, self.clients, self.kind)


def case_name(system: str, clients: int, kind: str) -> str:
    """The name of a case's files."""
    return f"{system}-{clients:05}" + ("-teleport" if kind == "teleport" else "")


@dataclass(frozen=True)
class UseCasePlan:
    """A whole evaluation; the paper's own is 25 minutes a case."""

    seconds: float = 1500.0
    clients: tuple[int, ...] = (250, 500, 750, 1000)
    systems: tuple[System, ...] = SYSTEMS
    ramp_s: float = 10.0
    processes: int = 1
    teleport: tuple[int, ...] = (250, 1000)
    """Numbers of teleporting clients; they keep a system as busy as it can be."""
    teleport_seconds: float = 60.0
    index_seconds: float = 0.0
    """For each point of the index experiments (figures 7 and 8); 0 leaves them out."""
    matching_seconds: float = 0.0
    """For each round in which everything matches; 0 leaves it out."""

    def __post_init__(self) -> None:
        if not self.clients or min(self.clients) < 1 or self.seconds <= 0 or self.processes < 1:
            raise PlanError("a use case needs clients, seconds and processes above 0")
        if self.teleport and (min(self.teleport) < 1 or self.teleport_seconds <= 0):
            raise PlanError("teleporting needs clients and seconds above 0")
        if unknown := set(self.systems) - set(SYSTEMS):
            raise PlanError(f"unknown systems {sorted(unknown)}; there are {', '.join(SYSTEMS)}")

    def cases(self) -> Iterator[UseCase]:
        """All cases, the small ones first; travelling before teleporting."""
        for clients, system in product(self.clients, self.systems):
            yield UseCase(system, clients)
        for clients, system in product(self.teleport, self.systems):
            yield UseCase(system, clients, "teleport")

    def length_s(self, case: UseCase) -> float:
        """How long a case takes, without connecting and draining."""
        return self.seconds if case.kind == "travel" else self.teleport_seconds

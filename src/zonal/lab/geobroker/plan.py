"""What is to be travelled: systems × numbers of clients."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from zonal.errors import PlanError
from zonal.lab.geobroker.brokers import SYSTEMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.lab.geobroker.brokers import System


@dataclass(frozen=True)
class UseCase:
    """One system under so many clients."""

    system: System
    clients: int

    @property
    def name(self) -> str:
        """A name that sorts and serves as a file name."""
        return f"{self.system}-{self.clients:05}"


@dataclass(frozen=True)
class UseCasePlan:
    """A whole evaluation; the paper's own is 25 minutes a case."""

    seconds: float = 1500.0
    clients: tuple[int, ...] = (250, 500, 750, 1000)
    systems: tuple[System, ...] = SYSTEMS
    ramp_s: float = 10.0
    processes: int = 1

    def __post_init__(self) -> None:
        if not self.clients or min(self.clients) < 1 or self.seconds <= 0 or self.processes < 1:
            raise PlanError("a use case needs clients, seconds and processes above 0")
        if unknown := set(self.systems) - set(SYSTEMS):
            raise PlanError(f"unknown systems {sorted(unknown)}; there are {', '.join(SYSTEMS)}")

    def cases(self) -> Iterator[UseCase]:
        """All cases, the small ones first."""
        for clients, system in product(self.clients, self.systems):
            yield UseCase(system, clients)

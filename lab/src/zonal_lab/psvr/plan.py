"""What of the PSVR evaluation is run: parts, each in cases by the number of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from zonal_lab.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class PsvrCase:
    """One part with one number of nodes; 0: the part's own numbers, all in one case."""

    part: str
    nodes: int

    @property
    def name(self) -> str:
        """The part, and the number."""
        return f"{self.part}-{self.nodes}" if self.nodes else self.part


@dataclass(frozen=True)
class PsvrPlan:
    """The cases, how much of each, and where a recording begins."""

    chosen: tuple[tuple[str, int], ...]
    quick: bool = False
    hours: float = 1.0
    """Length of the runs on recorded links."""
    tests: int = 2
    """Of each number of processes."""
    start: float = 0.0
    """Seconds of the recording that are left out."""
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.chosen or self.hours <= 0 or self.tests < 1 or self.start < 0:
            raise PlanError("a plan needs parts, hours above 0, tests from 1 and a start from 0 on")

    def cases(self) -> Iterator[PsvrCase]:
        """All cases, in the order that was chosen."""
        return (PsvrCase(*each) for each in self.chosen)


class Recordings(NamedTuple):
    """Where recorded data lies."""

    links: Path
    """Links over time in k7 format; or made up, which its name says."""
    table: Path | None = None
    """Delivery ratios of links, one a line; None: none at hand, as for what follows."""
    journeys: Path | None = None
    """A folder of trajectories (`.plt`)."""

    def words(self) -> dict[str, str]:
        """What is at hand, for the page."""
        found = {}
        if self.table is not None:
            found["weak links"] = f"the recorded ones of {self.table.name}"
        if self.journeys is not None:
            found["journeys"] = f"the trajectories of {self.journeys.name}"
        return found

"""An experiment with its options set: what is planned, on which data, and how a case is run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from zonal_lab.experiment.plan import Case

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping
    from contextlib import AbstractContextManager

    import pyarrow as pa

    from zonal_lab.experiment.plan import Plan
    from zonal_lab.experiment.results import Results

C = TypeVar("C", bound=Case)
_USUAL_S = 5.0


@dataclass(frozen=True)
class Outcome:
    """What a case gave.

    Attributes:
        figures: whatever JSON can hold.
        tables: raw samples, by what they are of; each kind has a folder of its own in the results.
    """

    figures: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)


class Trial(ABC, Generic[C]):
    """What the runner needs to know; each experiment has one.

    Attributes:
        plan: its cases.
        emulates: whether it needs emulated networks, and so root.
    """

    emulates = True

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def prepare(self, results: Results) -> Mapping[str, str]:
        """Get ready, before the first case; the data that the run uses, each in words.

        Called as well when results are continued. Words on data that is made up must say so.
        """
        del results
        return {}

    def group_of(self, case: C) -> Hashable:
        """Cases that follow one another and are of one group share a stage."""
        del case
        return None

    def seconds_of(self, case: C) -> float:
        """About how long a case takes, for the estimate that a run begins with."""
        del case
        return _USUAL_S

    def expected_s(self) -> float:
        """About how long all cases take."""
        cases: Iterable[Any] = self.plan.cases()
        return float(sum(self.seconds_of(case) for case in cases))

    @abstractmethod
    def stage(self, case: C) -> AbstractContextManager[Callable[[C], Outcome]]:
        """What the cases of a group run on; it gives the function that runs one.

        A case that fails raises an `EmulationError`; the stage is then left, and a new one made.
        """

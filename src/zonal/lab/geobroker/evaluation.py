"""Runs a plan of use cases, checks every geo case against the job, and keeps the results."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from zonal.errors import EmulationError, SparkError
from zonal.lab.geobroker.journeys import journeys
from zonal.lab.geobroker.oracle import check, local_join, spark_join
from zonal.lab.geobroker.travel import travel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from zonal.lab.geobroker.oracle import Agreement
    from zonal.lab.geobroker.plan import UseCase, UseCasePlan
    from zonal.lab.geobroker.results import UseCaseResults
    from zonal.lab.geobroker.travel import Travelled

# How long a move may take to be known at the other broker: its declarations go out every so often.
FEDERATION_GUARD_S = 1.0


class UseCaseEvaluation:
    """A plan on its way into results; what they hold already is not run again."""

    def __init__(
        self,
        plan: UseCasePlan,
        results: UseCaseResults,
        geolife: Path | None,
        *,
        spark: bool = True,
        on_case: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._spark = spark
        self._plan = plan
        self._results = results
        self._on_case = on_case
        self._ways = journeys(max(plan.clients), geolife)
        self.failures: list[str] = []

    def run(self) -> None:
        """Run all cases; one that fails is noted."""
        self._results.start(self._plan)
        made_up = self._ways[0].name.startswith("walk/")
        self._results.note(journeys="made up" if made_up else "Geolife")
        for case in self._plan.cases():
            self._on_case(case.name)
            if not self._results.has_case(case):
                self._run(case)
        if self.failures:
            self._results.note(failures=self.failures)

    def _run(self, case: UseCase) -> None:
        try:
            travelled = travel(case, self._plan, self._ways)
        except EmulationError as error:
            self.failures.append(f"{case.name}: {error}")
            return
        agreement, oracle = self._checked(travelled)
        self._results.keep(travelled, agreement, oracle)

    def _checked(self, travelled: Travelled) -> tuple[Agreement | None, str]:
        if travelled.case.system not in {"geo", "federated"}:
            return None, ""
        guard = FEDERATION_GUARD_S if travelled.case.system == "federated" else 0.0
        if self._spark:
            with contextlib.suppress(SparkError):
                return check(travelled, self._ways, spark_join, guard), "the job on Spark"
        return check(travelled, self._ways, local_join, guard), "the job's predicate, without Spark"

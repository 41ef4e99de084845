"""Runs a plan: use cases checked against the job, the index experiments, everything matching."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from zonal.errors import SparkError
from zonal.geo import Point
from zonal_lab.errors import EmulationError
from zonal_lab.geobroker import everything
from zonal_lab.geobroker.index_throughput import (
    WAYS,
    geo_claims,
    granularity_claims,
    sweep_clients,
    sweep_granularity,
)
from zonal_lab.geobroker.journeys import journeys, run_workload_job
from zonal_lab.geobroker.oracle import check, local_join, spark_join
from zonal_lab.geobroker.travel import travel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

    from zonal_lab.geobroker.journeys import Journey
    from zonal_lab.geobroker.oracle import Agreement
    from zonal_lab.geobroker.plan import UseCase, UseCasePlan
    from zonal_lab.geobroker.results import UseCaseResults
    from zonal_lab.geobroker.travel import Travelled

# How long a move may take to be known at the other broker: its declarations go out twenty times a
# second, and wait where teleporting clients leave no processor idle.
FEDERATION_GUARD_S = {"travel": 0.25, "teleport": 0.5}
MATCHING_ROUNDS = 5
_PLACES = 2000
"""Of each trajectory, for the index experiments."""


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
        self._plan = plan
        self._results = results
        self._geolife = geolife
        self._spark = spark
        self.on_case = on_case
        """Called with the name of each part before it runs."""
        self._ways: list[Journey] = []
        self.failures: list[str] = []

    def steps(self) -> int:
        """How many parts will be told of."""
        extra = bool(self._plan.index_seconds) + bool(self._plan.matching_seconds)
        return 1 + len(list(self._plan.cases())) + extra

    def run(self) -> None:
        """Run everything; a case that fails is noted."""
        self._results.start(self._plan)
        self.on_case("workload job")
        trace = self._trace()
        self._results.note(journeys="made up" if trace is None else "Geolife")
        plan = self._plan
        self._ways = journeys(max(*plan.clients, *plan.teleport, 1), trace)
        if plan.index_seconds:
            self._experiment("index", self._index)
        if plan.matching_seconds:
            self._experiment("matching", self._matching)
        for case in plan.cases():
            self.on_case(case.name)
            if not self._results.has_case(case):
                self._run(case)
        if self.failures:
            self._results.note(failures=self.failures)

    def _trace(self) -> pa.Table | None:
        """The trace that the results hold, or a new one where there are Geolife and Spark."""
        trace = self._results.trace()
        if trace is None and self._geolife is not None and self._spark:
            with contextlib.suppress(SparkError):
                trace = run_workload_job(
                    self._geolife, max(*self._plan.clients, *self._plan.teleport, 1)
                )
                self._results.keep_trace(trace)
        return trace

    def _experiment(self, name: str, run: Callable[[], dict[str, Any]]) -> None:
        self.on_case(name)
        if self._results.experiment(name) is None:
            self._results.keep_experiment(name, run())

    def _index(self) -> dict[str, Any]:
        """The paper's figures 7 and 8, by the code of the index benchmark."""
        ways = [
            [Point(*place) for place in zip(way.lats[:_PLACES], way.lons[:_PLACES], strict=True)]
            for way in self._ways
        ]
        seconds = self._plan.index_seconds
        granularity = {n: sweep_granularity(ways, n, seconds) for n in (10, 1000)}
        geo = {way: sweep_clients(ways, seconds, remembers=WAYS[way]) for way in WAYS}
        claims = [each for n, table in granularity.items() for each in granularity_claims(table, n)]
        claims += [each for way, factors in geo.items() for each in geo_claims(factors, way)]
        return {
            "granularity": {f"clients {n}": table for n, table in granularity.items()},
            "geo or not": geo,
            "claims": [asdict(each) for each in claims],
        }

    def _matching(self) -> dict[str, Any]:
        seconds = self._plan.matching_seconds
        return {
            name: asdict(everything.measure(seconds, MATCHING_ROUNDS, moving=moving))
            for name, moving in (("resting", False), ("moving", True))
        }

    def _run(self, case: UseCase) -> None:
        try:
            travelled = travel(case, self._plan, self._ways)
        except EmulationError as error:
            self.failures.append(f"{case.name}: {error}")
            return
        agreement, oracle = self._checked(travelled)
        self._results.keep(travelled, agreement, oracle)

    def _checked(self, travelled: Travelled) -> tuple[Agreement | None, str]:
        case = travelled.case
        if case.system not in {"geo", "federated"}:
            return None, ""
        guard = FEDERATION_GUARD_S[case.kind] if case.system == "federated" else 0.0
        if self._spark:
            with contextlib.suppress(SparkError):
                return check(travelled, self._ways, spark_join, guard), "the job on Spark"
        return check(travelled, self._ways, local_join, guard), "the job's predicate, without Spark"

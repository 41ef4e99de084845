"""How the cases of `geobroker` are run: clients on loopback, checked against the deliveries job."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from zonal.errors import SparkError
from zonal.geo import Point
from zonal_lab.experiment import Outcome, Trial
from zonal_lab.geobroker.everything_matches import measure_overhead
from zonal_lab.geobroker.journeys import journeys_for, run_workload_job
from zonal_lab.geobroker.oracle import check, local_join, spark_join
from zonal_lab.geobroker.plan import GeobrokerCase, IndexCase, MatchingCase
from zonal_lab.geobroker.samples import LATENCIES, figures_of, latency_table
from zonal_lab.geobroker.travel import run_use_case
from zonal_lab.index import (
    WAYS,
    sweep_clients,
    sweep_granularity,
    time_workload,
    walks_of_all,
)
from zonal_lab.systems import mosquitto_version, router_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa

    from zonal_lab.experiment import Results
    from zonal_lab.geobroker.journeys import Journey
    from zonal_lab.geobroker.oracle import Agreement
    from zonal_lab.geobroker.plan import GeobrokerPlan, UseCase
    from zonal_lab.geobroker.travel import Travelled
    from zonal_lab.index import Trajectory

# How long a move may take to be known at the other broker: its declarations go out twenty times a
# second, and wait where teleporting clients leave no processor idle.
FEDERATION_GUARD_S = {"travel": 0.25, "teleport": 0.5}
_CHECK = 0.3
"""How long a second of a thousand clients takes to be checked, or to come in without places."""
_PLACES = 2000
"""Of each trajectory, for the index experiments."""


class GeobrokerTrial(Trial[GeobrokerCase]):
    """GeoBroker's evaluation with its options set.

    Args:
        plan: what to run.
        geolife: the folder of Geolife's trajectories; without one, clients walk made-up ways.
        spark: whether the jobs run on Spark. Without it journeys are made up, and deliveries are
            checked by the job's own predicate in this process.
        zenohd: the program over which federated brokers meet, where the plan says so.
    """

    emulates = False

    def __init__(
        self,
        plan: GeobrokerPlan,
        geolife: Path | None = None,
        *,
        spark: bool = True,
        zenohd: Path | None = None,
    ) -> None:
        super().__init__(plan)
        self._plan = plan
        self._geolife = geolife
        self._spark = spark
        self._zenohd = None if zenohd is None else str(zenohd.absolute())
        self._ways: list[Journey] = []

    def prepare(self, results: Results) -> dict[str, str]:
        """Find the clients' journeys (kept, Geolife's, or made-up ones); a `zenohd` must start."""
        return router_words(self._zenohd) | self._journeys(results)

    def _journeys(self, results: Results) -> dict[str, str]:
        results.note(mosquitto=mosquitto_version())
        trace = self._trace(results.folder / "trace.parquet")
        self._ways = journeys_for(self._plan.most_clients, trace, seed=self._plan.seed)
        if trace is not None:
            known = len(set(trace["trajectory"].to_pylist()))
            return {"journeys": f"{known} recorded trajectories of Geolife, by the workload job"}
        why = "--geolife names a folder of recorded ones"
        if self._geolife is not None:
            why = "the workload job that reads Geolife needs Spark"
        return {"journeys": f"made-up walks around Beijing; {why}"}

    def _trace(self, kept: Path) -> pa.Table | None:
        """The trace of the workload job, kept for whoever continues; None: made-up journeys."""
        if kept.exists():
            return pq.read_table(kept)
        if self._geolife is None or not self._spark:
            return None
        try:
            trace = run_workload_job(self._geolife, self._plan.most_clients)
        except SparkError:
            return None
        new = kept.with_suffix(".new")
        pq.write_table(trace, new, compression="zstd")
        new.replace(kept)
        return trace

    def seconds_of(self, case: GeobrokerCase) -> float:
        """A use case with connecting, draining and checking; sweeps by their points."""
        if isinstance(case, IndexCase):
            return self._plan.index_seconds * 170 + self._plan.workload_scale * 40
        if isinstance(case, MatchingCase):
            return 2 * self._plan.rounds * (self._plan.matching_seconds + 3)
        return self._plan.length_s(case) * (1 + _CHECK * (case.clients / 1000) ** 2) + 15

    @contextlib.contextmanager
    def stage(self, case: GeobrokerCase) -> Iterator[Callable[[GeobrokerCase], Outcome]]:
        """Nothing is shared: every case starts its own brokers."""
        del case
        yield self._run

    def _run(self, case: GeobrokerCase) -> Outcome:
        if isinstance(case, IndexCase):
            return Outcome(self._index())
        if isinstance(case, MatchingCase):
            return Outcome(self._matching())
        return self._use_case(case)

    def _index(self) -> dict[str, Any]:
        """The paper's figures 7 and 8, by the code of the index benchmark."""
        ways = [
            [Point(*place) for place in zip(way.lats[:_PLACES], way.lons[:_PLACES], strict=True)]
            for way in self._ways
        ]
        seconds, walks = self._plan.index_seconds, walks_of_all(ways)
        granularity = {n: sweep_granularity(walks[n], seconds) for n in (10, 1000)}
        geo = {way: sweep_clients(walks, seconds, remembers=WAYS[way]) for way in WAYS}
        return {
            "granularity": {f"clients {n}": table for n, table in granularity.items()},
            "geo or not": geo,
            "workload": self._workload(ways),
        }

    def _workload(self, ways: list[Trajectory]) -> dict[str, float]:
        scale = self._plan.workload_scale
        return time_workload(ways, scale) if scale else {}

    def _matching(self) -> dict[str, Any]:
        seconds, rounds = self._plan.matching_seconds, self._plan.rounds
        return {
            name: asdict(measure_overhead(seconds, rounds, moving=moving))
            for name, moving in (("resting", False), ("moving", True))
        }

    def _use_case(self, case: UseCase) -> Outcome:
        travelled = run_use_case(case, self._plan, self._ways, self._zenohd)
        agreement, oracle = self._checked(travelled)
        figures = figures_of(travelled, agreement, oracle)
        return Outcome(asdict(figures), {LATENCIES: latency_table(travelled)})

    def _checked(self, travelled: Travelled) -> tuple[Agreement | None, str]:
        case = travelled.case
        if case.system not in {"geo", "federated"}:
            return None, ""
        guard = FEDERATION_GUARD_S[case.kind] if case.system == "federated" else 0.0
        if self._spark:
            with contextlib.suppress(SparkError):
                return check(travelled, self._ways, spark_join, guard), "the job on Spark"
        return check(travelled, self._ways, local_join, guard), "the job's predicate, without Spark"

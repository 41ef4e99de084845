"""How the cases of `psvr` are run: a sweep over the tasks of a part, on Spark or here."""

from __future__ import annotations

import contextlib
import random
from typing import TYPE_CHECKING

import pyarrow as pa

from zonal.errors import MeshError
from zonal.mesh import connected_gnp
from zonal_lab.errors import EmulationError
from zonal_lab.experiment import Outcome, Trial
from zonal_lab.psvr.channels import write_k7
from zonal_lab.psvr.parts import PARTS
from zonal_lab.psvr.plan import PsvrCase, Recordings
from zonal_lab.psvr.sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from zonal_lab.experiment import Results
    from zonal_lab.psvr.plan import PsvrPlan

ROWS = "rows"
"""The kind of the raw samples in the results."""
_MADE_UP = "made-up.k7"
_MINUTES: dict[str, float] = {
    "messages-20": 1,
    "messages-50": 10,
    "messages-100": 16,
    "messages-200": 3,
    "messages-500": 4,
    "messages-1000": 9,
    "delivery": 25,
    "routes": 5,
    "density": 2,
    "weak-links": 15,
    "moving": 6,
    "moving-processes": 8,
    "recovery": 5,
    "joining": 2,
    "subscribing": 2,
    "channels": 1,
    "rest": 2,
}
"""About how long a case takes, one task after the other, on two cores; else any of its part."""
_TEST_S = 230.0
"""… a test of processes."""
_SIMULATED_HOUR_S = 10.3
"""… an hour of one node on recorded links, of which each task has some minutes more to warm up."""
_WARM_HOURS = 1 / 6
_TASKS = "tasks"
"""The folder of what the tasks of a case gave that was not finished yet."""


class PsvrTrial(Trial[PsvrCase]):
    """The evaluation with its options set.

    Args:
        plan: what to run.
        trace: recorded links in k7 format; None: they are made up, and the page says so.
        table: recorded delivery ratios, one a line; None: what needs them is left out.
        journeys: a folder of trajectories; None: likewise.
        master: Spark's; None runs one task after the other, in this process.
    """

    emulates = False

    def __init__(
        self,
        plan: PsvrPlan,
        trace: Path | None = None,
        table: Path | None = None,
        journeys: Path | None = None,
        *,
        master: str | None = None,
    ) -> None:
        super().__init__(plan)
        self._plan = plan
        self._trace = trace
        self._others = (table, journeys)
        self._master = master
        self._data: Recordings | None = None
        self._done: Path | None = None

    def prepare(self, results: Results) -> dict[str, str]:
        """Find the recordings, or make links up where a part needs some."""
        self._done = results.folder / _TASKS
        if self._trace is not None:
            self._data = Recordings(self._trace, *self._others)
            return {"links": f"the recorded ones of {self._trace.name}", **self._data.words()}
        made = results.folder / _MADE_UP
        self._data = Recordings(made, *self._others)
        if not any(PARTS[case.part].recorded for case in self._plan.cases()):
            return self._data.words()
        _make_links_up(made)
        return {"links": "made up by chance; --trace names a recording", **self._data.words()}

    def seconds_of(self, case: PsvrCase) -> float:
        """By its part; on recorded links by the hours, of processes by the tests."""
        plan = self._plan
        if plan.quick:
            return super().seconds_of(case)
        if case.part == "recorded":
            # With acknowledgement and without; fifty nodes on one radio channel, too.
            tasks = 4 if case.nodes == 50 and self._trace is not None else 2
            return tasks * case.nodes * (plan.hours + _WARM_HOURS) * _SIMULATED_HOUR_S
        if case.part == "processes":
            return plan.tests * _TEST_S
        return 60 * _MINUTES.get(case.name, _MINUTES.get(case.part, 1))

    @contextlib.contextmanager
    def stage(self, case: PsvrCase) -> Iterator[Callable[[PsvrCase], Outcome]]:
        """Nothing is shared."""
        del case
        yield self._run

    def _run(self, case: PsvrCase) -> Outcome:
        part = PARTS[case.part]
        assert self._data is not None
        assert self._done is not None
        tasks = part.tasks(self._plan, self._data, case.nodes)
        master = self._master if part.spreads else None
        try:
            rows = sweep(part.work, tasks, master=master, done=self._done / case.name)
        except MeshError as error:
            raise EmulationError(str(error)) from error
        return Outcome({"tasks": len(tasks)}, {ROWS: pa.Table.from_pylist(rows)})


def _make_links_up(path: Path) -> None:
    """A random graph whose links lose nothing, a twentieth or a fifth, as a trace."""
    rng = random.Random(1)
    graph = connected_gnp(50, 0.12, rng)
    write_k7(path, {(a, b): rng.choice((0.8, 0.95, 1.0)) for a in graph for b in graph[a]})

"""Runs the location-aware evaluation: every case of a plan, on emulated networks, into results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from zonal_lab.emulation.network import EmulatedNetwork
from zonal_lab.emulation.topology import Card, Topology, layout
from zonal_lab.emulation.trace import made_up_lte, read_trace, write_trace
from zonal_lab.errors import EmulationError
from zonal_lab.location.floor import trace_floor_ms
from zonal_lab.location.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from zonal_lab.experiment.results import Results
    from zonal_lab.location.plan import Case, Plan

_TRIES = 2


def scenario_topology(plan: Plan, scenario: str) -> Topology:
    """The layout of a scenario, its clients on traces or on plain cards."""
    topology = layout(scenario)
    if plan.client_links == "trace":
        return topology
    nodes = tuple(
        node if node.role == "router" else replace(node, card=Card()) for node in topology.nodes
    )
    return replace(topology, nodes=nodes)


def trace_files(topology: Topology, folders: tuple[Path, ...], made_up: Path) -> dict[str, Path]:
    """The file of each trace; a made-up one, written where asked, stands in for a missing one."""
    names = {name for node in topology.nodes for name in (node.card.trace_out, node.card.trace_in)}
    files: dict[str, Path] = {}
    for name in sorted(each for each in names if each is not None):
        real = next((folder / name for folder in folders if (folder / name).is_file()), None)
        if real is None:
            write_trace(made_up_lte(), made_up)
        files[name] = real or made_up
    return files


def _measured_rate(topology: Topology) -> float:
    """The rate of the publisher that the measured subscribers hear."""
    subscriber = next(node for node in topology.nodes if node.measured)
    publishers = topology.with_role("publisher")
    return next(each.rate_hz for each in publishers if topology.wants(subscriber, each))


class Evaluation:
    """A plan on its way into results.

    Args:
        plan: what to run.
        results: where to; what they hold already is not run again.
        trace_folders: where Mahimahi traces are looked for.
        on_case: is told of every case before it runs, with its number (from 0).
    """

    def __init__(
        self,
        plan: Plan,
        results: Results,
        trace_folders: tuple[Path, ...] = (),
        *,
        on_case: Callable[[Case, int], None] = lambda _case, _number: None,
    ) -> None:
        self._plan = plan
        self._results = results
        self._folders = trace_folders
        self._on_case = on_case
        self.failures: list[str] = []

    def run(self) -> None:
        """Run all cases; one that fails is tried again on a fresh network, then noted."""
        self._results.begin(self._plan)
        self._note_traces()
        with self._results.timed():
            self._run_scenarios()
        if self.failures:
            self._results.note(failures=self.failures)

    def _run_scenarios(self) -> None:
        done = 0
        for scenario in self._plan.scenarios:
            cases = list(self._plan.cases(scenario))
            left = [case for case in cases if not self._results.has(case)]
            for _ in range(_TRIES):
                left = self._run_scenario(scenario, left, done + len(cases) - len(left))
            done += len(cases)

    def _note_traces(self) -> None:
        """Which trace the clients are on, and what it alone costs in each scenario."""
        made_up = self._results.folder / "made-up-lte.trace"
        floors = {}
        for scenario in self._plan.scenarios:
            topology = scenario_topology(self._plan, scenario)
            files = trace_files(topology, self._folders, made_up)
            for name, path in files.items():
                self._results.note(trace="made-up-lte" if path == made_up else name)
                floors[scenario] = trace_floor_ms(
                    read_trace(path),
                    rate_hz=_measured_rate(topology),
                    seconds=self._plan.seconds,
                    rounds=self._plan.rounds,
                )
        self._results.note(trace_floor_ms=floors)

    def _run_scenario(self, scenario: str, cases: list[Case], done: int) -> list[Case]:
        """Run cases on one network until one fails; the failed ones come back at the end."""
        failed: list[Case] = []
        topology = scenario_topology(self._plan, scenario)
        made_up = self._results.folder / "made-up-lte.trace"
        files = trace_files(topology, self._folders, made_up)
        while cases:
            with EmulatedNetwork(topology, traces=files) as network:
                cases, broken, done = self._run_on(Scene(network), cases, done)
            failed.extend(broken)
        return failed

    def _run_on(
        self, scene: Scene, cases: list[Case], done: int
    ) -> tuple[list[Case], list[Case], int]:
        for number, case in enumerate(cases):
            self._on_case(case, done + number)
            # All techniques of a round meet the same stretch of the trace.
            skip_ms = round(case.round * self._plan.seconds * 1000)
            try:
                outcome = scene.run(case, self._plan.seconds_of(case), skip_ms=skip_ms)
            except EmulationError as error:
                self.failures.append(f"{case.name}: {error}")
                return cases[number + 1 :], [case], done + number + 1
            self._results.add(outcome, scene.topology)
        return [], [], done + len(cases)

"""Runs a plan of echoes: every scenario on its emulated hosts, into results."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from zonal_lab.emulation.network import EmulatedNetwork
from zonal_lab.emulation.trace import write_trace
from zonal_lab.emulation.wireless import made_up_wifi
from zonal_lab.errors import EmulationError
from zonal_lab.latency.hosts import EchoHosts
from zonal_lab.latency.scenarios import LTE_TRACE, scenario
from zonal_lab.location.evaluation import trace_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from zonal_lab.emulation.topology import Topology
    from zonal_lab.latency.plan import EchoCase, EchoPlan
    from zonal_lab.latency.results import EchoResults

_TRIES = 2


class EchoEvaluation:
    """A plan of echoes on its way into results; what they hold already is not run again."""

    def __init__(
        self,
        plan: EchoPlan,
        results: EchoResults,
        trace_folders: tuple[Path, ...] = (),
        *,
        on_case: Callable[[EchoCase], None] = lambda _: None,
    ) -> None:
        self._plan = plan
        self._results = results
        self._folders = trace_folders
        self._on_case = on_case
        self.failures: list[str] = []

    def run(self) -> None:
        """Run all cases; one that fails is tried once more on fresh hosts, then noted."""
        self._results.start(self._plan)
        loads = [os.getloadavg()[0]]
        for name in self._plan.scenarios:
            for _ in range(_TRIES):
                self._run_scenario(name)
            loads.append(os.getloadavg()[0])
        self._results.note(load=[round(each, 1) for each in loads])
        if self.failures:
            self._results.note(failures=self.failures)

    def _left(self, name: str) -> list[EchoCase]:
        return [case for case in self._plan.cases(name) if not self._results.has_case(case)]

    def _run_scenario(self, name: str) -> None:
        """Run what is left; after a failure the hosts are in no known state and are built anew."""
        left = self._left(name)
        while left:
            topology = scenario(name).topology(self._plan.links)
            files = self._traces(topology)
            with EmulatedNetwork(topology, traces=files) as network:
                hosts = EchoHosts(network, scenario(name))
                with contextlib.closing(hosts):
                    left = self._run_on(hosts, left)

    def _run_on(self, hosts: EchoHosts, cases: list[EchoCase]) -> list[EchoCase]:
        """Run cases until one fails; the ones after it come back."""
        for number, case in enumerate(cases):
            self._on_case(case)
            try:
                echoes = hosts.run(case, self._plan.echoes_of(case), self._plan.size)
            except EmulationError as error:
                self.failures.append(f"{case.name}: {error}")
                return cases[number + 1 :]
            self._results.keep(echoes)
        return []

    def _traces(self, topology: Topology) -> dict[str, Path]:
        """The file of each trace: Wi-Fi's are made up here, LTE's looked for."""
        if self._plan.links == "lte":
            made_up = self._results.folder / "made-up-lte.trace"
            files = trace_files(topology, self._folders, made_up)
            self._results.note(trace=LTE_TRACE if made_up not in files.values() else "made-up-lte")
            return files
        names = {
            each for node in topology.nodes for each in (node.card.trace_out, node.card.trace_in)
        }
        found: dict[str, Path] = {}
        for name in sorted(each for each in names if each is not None):
            found[name] = self._results.folder / f"{name}.trace"
            write_trace(made_up_wifi(int(name.partition("-")[2])), found[name])
        return found

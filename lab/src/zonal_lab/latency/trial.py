"""How the cases of `latency` are run: each scenario on its own emulated hosts."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from zonal_lab.emulation import (
    EmulatedNetwork,
    describe_trace,
    made_up_wifi,
    trace_file,
    write_trace,
)
from zonal_lab.experiment import Outcome, Trial
from zonal_lab.latency.hosts import Hosts
from zonal_lab.latency.plan import LatencyCase
from zonal_lab.latency.samples import ECHOES, echo_table
from zonal_lab.latency.scenarios import LTE_TRACE, scenario, wifi_seed
from zonal_lab.latency.summary import THEIRS
from zonal_lab.systems import mosquitto_version, router_words

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from pathlib import Path

    from zonal_lab.experiment import Results
    from zonal_lab.latency.plan import LatencyPlan

_WIFI = (
    "made up (802.11n, a channel shared with others: a turn every 1.25 ms on average, at random "
    "moments, 29 Mbit/s, now and then gone for up to 20 ms; every direction of every card has its "
    "own, and all stacks of a round meet the same stretch)"
)


class LatencyTrial(Trial[LatencyCase]):
    """Round trips with the options set.

    Args:
        plan: what to run.
        traces: a folder of Mahimahi traces, for `lte` links; without one, a made-up link.
        zenohd: the program that is the routers, where the plan says so.
    """

    def __init__(
        self, plan: LatencyPlan, traces: Path | None = None, zenohd: Path | None = None
    ) -> None:
        super().__init__(plan)
        self._zenohd = None if zenohd is None else str(zenohd.absolute())
        self._plan = plan
        self._folder = traces
        self._files: dict[str, Path] = {}

    def prepare(self, results: Results) -> dict[str, str]:
        """Find or make the traces of all wireless cards."""
        results.note(mosquitto=mosquitto_version())
        for name in self._plan.scenarios:
            for trace in scenario(name).topology(self._plan.links).traces:
                self._files[trace] = self._trace(trace, results.folder)
        routers = router_words(self._zenohd)
        if self._plan.links == "wired":
            return routers
        words = _WIFI
        if self._plan.links == "lte":
            words = describe_trace(LTE_TRACE, self._folder)
        return {"packet traces of the wireless cards": words, **routers}

    def _trace(self, name: str, scratch: Path) -> Path:
        if self._plan.links == "lte":
            return trace_file(name, self._folder, scratch)
        path = scratch / f"{name}.trace"
        write_trace(made_up_wifi(wifi_seed(name)), path)
        return path

    def group_of(self, case: LatencyCase) -> Hashable:
        """Hosts for each scenario."""
        return case.scenario

    def seconds_of(self, case: LatencyCase) -> float:
        """Echoes by what Barón 2024 needed for one, where it says."""
        each_ms = THEIRS.get((case.scenario, case.stack), THEIRS.get((case.scenario, "mqtt-1"), 5))
        return self._plan.echoes_of(case) * each_ms / 1000 + 3

    @contextlib.contextmanager
    def stage(self, case: LatencyCase) -> Iterator[Callable[[LatencyCase], Outcome]]:
        """The scenario's hosts with routers, brokers and the two ends."""
        chosen = scenario(case.scenario)
        topology = chosen.topology(self._plan.links)
        seed = self._plan.seed
        with (
            EmulatedNetwork(topology, traces=self._files, seed=seed) as network,
            contextlib.closing(Hosts(network, chosen, self._zenohd)) as hosts,
        ):
            yield lambda each: self._run(hosts, each)

    def _run(self, hosts: Hosts, case: LatencyCase) -> Outcome:
        found = hosts.run(case, self._plan.echoes_of(case), self._plan.size)
        lost = found.rtt_ns.count(None)
        return Outcome({"echoes": len(found.rtt_ns), "lost": lost}, {ECHOES: echo_table(found)})

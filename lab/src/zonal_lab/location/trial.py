"""How the cases of the location-aware evaluation are run: each scenario on its own network."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from zonal_lab.emulation import (
    Card,
    EmulatedNetwork,
    Topology,
    describe_trace,
    layout,
    read_trace,
    trace_file,
)
from zonal_lab.experiment import Outcome, Trial
from zonal_lab.location.false_positives import count_false_positives
from zonal_lab.location.floor import trace_floor_ms
from zonal_lab.location.plan import FalsePositivesCase, LocationCase
from zonal_lab.location.samples import (
    NODES,
    SAMPLES,
    node_table,
    rows_of_a_case,
    sample_table,
    sampling_interval,
)
from zonal_lab.location.scene import Scene
from zonal_lab.systems import router_words

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from pathlib import Path

    from zonal_lab.experiment import Results
    from zonal_lab.location.plan import LocationPlan

    AnyCase = LocationCase | FalsePositivesCase


def scenario_topology(plan: LocationPlan, scenario: str) -> Topology:
    """The layout of a scenario, its clients on traces or on plain cards."""
    topology = layout(scenario)
    if plan.client_links == "trace":
        return topology
    nodes = tuple(
        node if node.role == "router" else replace(node, card=Card()) for node in topology.nodes
    )
    return replace(topology, nodes=nodes)


def _measured_rate(topology: Topology) -> float:
    """The rate of the publisher that the measured subscribers hear."""
    subscriber = next(node for node in topology.nodes if node.measured)
    publishers = topology.with_role("publisher")
    return next(each.rate_hz for each in publishers if topology.wants(subscriber, each))


class LocationTrial(Trial["AnyCase"]):
    """The evaluation with its options set.

    Args:
        plan: what to run.
        traces: a folder of Mahimahi traces; without one, a made-up link stands in for each.
        zenohd: the program that is the routers, where the plan says so.
    """

    def __init__(
        self, plan: LocationPlan, traces: Path | None = None, zenohd: Path | None = None
    ) -> None:
        super().__init__(plan)
        self._zenohd = None if zenohd is None else str(zenohd.absolute())
        self._plan = plan
        self._folder = traces
        self._files: dict[str, Path] = {}

    def prepare(self, results: Results) -> dict[str, str]:
        """Find the clients' trace, and note what it alone costs in each scenario."""
        data: dict[str, str] = router_words(self._zenohd)
        floors: dict[str, float] = {}
        for scenario in self._plan.scenarios:
            topology = scenario_topology(self._plan, scenario)
            for name in topology.traces:
                self._files[name] = trace_file(name, self._folder, results.folder)
                data["packet trace of the clients"] = describe_trace(name, self._folder)
                floors[scenario] = trace_floor_ms(
                    read_trace(self._files[name]),
                    rate_hz=_measured_rate(topology),
                    seconds=self._plan.seconds,
                    rounds=self._plan.rounds,
                )
        results.note(trace_floor_ms=floors)
        return data

    def group_of(self, case: AnyCase) -> Hashable:
        """A network for each scenario."""
        return case.scenario if isinstance(case, LocationCase) else case.name

    def seconds_of(self, case: AnyCase) -> float:
        """A run, with opening and draining."""
        return self._plan.seconds_of(case) + 6 if isinstance(case, LocationCase) else 20

    @contextlib.contextmanager
    def stage(self, case: AnyCase) -> Iterator[Callable[[AnyCase], Outcome]]:
        """The scenario's network with a process in every node; none for the false positives."""
        if isinstance(case, FalsePositivesCase):
            yield lambda _: Outcome({"rows": [asdict(row) for row in count_false_positives()]})
            return
        topology = scenario_topology(self._plan, case.scenario)
        seed = self._plan.seed
        with EmulatedNetwork(topology, traces=self._files, seed=seed) as network:
            scene = Scene(network, self._zenohd)
            yield lambda each: self._run(scene, each)

    def _run(self, scene: Scene, case: AnyCase) -> Outcome:
        assert isinstance(case, LocationCase)
        # All techniques of a round meet the same stretch of the trace.
        skip_ms = round(case.round * self._plan.seconds * 1000)
        found = scene.run(case, self._plan.seconds_of(case), skip_ms=skip_ms)
        topology = scene.topology
        interval = sampling_interval(found, topology, rows_of_a_case(self._plan))
        return Outcome(
            {"seconds": found.seconds, "setup_s": found.setup_s, "notes": found.notes},
            {
                SAMPLES: sample_table(found, topology, interval),
                NODES: node_table(found, topology, interval),
            },
        )

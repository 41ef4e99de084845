"""How the cases of `discovery` are run: on one row of hosts."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from zonal_lab.discovery.plan import MOST_NODES, DiscoveryCase
from zonal_lab.emulation import CARD, Card, EmulatedNetwork, hosts_in_a_row
from zonal_lab.experiment import Outcome, Trial
from zonal_lab.systems import router_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from zonal_lab.discovery.plan import DiscoveryPlan
    from zonal_lab.emulation import Worker
    from zonal_lab.experiment import Results

_PATIENCE_S, _SILENT_PATIENCE_S = 15.0, 3.0


class DiscoveryTrial(Trial[DiscoveryCase]):
    """Times to the first message with the options set.

    Args:
        plan: what to run.
        zenohd: the program that is the routers between the ends, where the plan says so.
    """

    def __init__(self, plan: DiscoveryPlan, zenohd: Path | None = None) -> None:
        super().__init__(plan)
        self._plan = plan
        self._zenohd = None if zenohd is None else str(zenohd.absolute())

    def prepare(self, results: Results) -> dict[str, str]:
        """Nothing is needed; a `zenohd` must start."""
        del results
        return router_words(self._zenohd)

    def seconds_of(self, case: DiscoveryCase) -> float:
        """Opening and closing all nodes, once a round."""
        return 2.0 * self._plan.rounds_of(case) + (4 if case.silent else 0)

    @contextlib.contextmanager
    def stage(self, case: DiscoveryCase) -> Iterator[Callable[[DiscoveryCase], Outcome]]:
        """Hosts with a process each; all cases use as many of them as they need."""
        del case
        topology = hosts_in_a_row("discovery", [Card()] * MOST_NODES)
        with EmulatedNetwork(topology, seed=self._plan.seed) as network:
            for node in topology.nodes:
                network.run(node, "ip", "route", "add", "default", "dev", CARD)
            workers = [
                network.start_role(node, "zonal_lab.discovery.role") for node in topology.nodes
            ]
            addresses = [node.address for node in topology.nodes]
            yield lambda each: self._run(each, workers, addresses)

    def _program_of(self, mode: str) -> str | None:
        return self._zenohd if mode == "router" else None

    def _run(self, case: DiscoveryCase, workers: list[Worker], addresses: list[str]) -> Outcome:
        opened: list[float] = []
        first: list[float | None] = []
        last = len(case.modes) - 1
        for _ in range(self._plan.rounds_of(case)):
            # Whoever is told to connect to another comes after it.
            for number in sorted(
                range(last), key=lambda each: (case.modes[each] == "client", each)
            ):
                order: dict[str, Any] = {"do": "beacon"}
                if number > 0:
                    order = {"do": "route", "program": self._program_of(case.modes[number])}
                workers[number].ask({**order, "config": case.config(number, addresses)}, 40)
            patience_s = _SILENT_PATIENCE_S if case.silent else _PATIENCE_S
            config = case.config(last, addresses)
            answer = workers[last].ask(
                {"do": "discover", "config": config, "patience_s": patience_s}, 60
            )
            opened.append(float(answer["open_ms"]))
            first.append(answer["first_ms"])
            for number in range(last, -1, -1):
                workers[number].ask({"do": "close"}, 40)
        return Outcome({"open_ms": opened, "first_ms": first})

"""Runs bursts between two emulated hosts, into results."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from zonal_lab.emulation.network import EmulatedNetwork
from zonal_lab.emulation.topology import Card, Node, Topology
from zonal_lab.errors import EmulationError, PlanError
from zonal_lab.experiment.results import Results
from zonal_lab.reliability.plan import LINK_LOSS, BurstCase

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal_lab.emulation.worker import Worker
    from zonal_lab.reliability.plan import BurstPlan

PORT = 7447
_PATIENCE_S = 40.0
# What is missing is lost when nothing more came for so long. Recovery gives up after 10 s.
_QUIET_S, _RECOVERY_QUIET_S, _DRAIN_S = 0.8, 12.0, 60.0


@dataclass(frozen=True)
class BurstFigures:
    """All samples of one case."""

    case: dict[str, Any]
    lost: list[float]
    copies: int
    seconds: list[float]
    # Percentiles 0.5, 25, 50, 75, 99.5 of all round trips, then their mean and greatest (ms)
    round_trips: list[float]


class BurstResults(Results):
    """A folder of bursts: `bursts/<case>.json`."""

    def start(self, plan: BurstPlan) -> None:
        """Write the manifest; an existing one must be of the same plan, to be continued."""
        self.begin(cast("Any", plan))
        (self.folder / "bursts").mkdir(exist_ok=True)

    def has_case(self, case: BurstCase) -> bool:
        """Whether the case has already been run."""
        return (self.folder / "bursts" / f"{case.name}.json").exists()

    def keep(self, case: BurstCase, figures: BurstFigures) -> None:
        """Keep the figures of a case."""
        path = self.folder / "bursts" / f"{case.name}.json"
        path.write_text(json.dumps(asdict(figures), indent=1) + "\n")

    def figures(self) -> dict[BurstCase, BurstFigures]:
        """All figures by case."""
        files = sorted((self.folder / "bursts").glob("*.json"))
        if not files:
            raise PlanError(f"{self.folder} holds no burst yet")
        read = [BurstFigures(**json.loads(file.read_text())) for file in files]
        return {BurstCase(**each.case): each for each in read}


class BurstEvaluation:
    """A plan of bursts on its way into results."""

    def __init__(
        self, plan: BurstPlan, results: BurstResults, *, on_case: Callable[[str], None]
    ) -> None:
        self._plan = plan
        self._results = results
        self._on_case = on_case
        self.failures: list[str] = []

    def run(self) -> None:
        """Bursts on a clean wire, then the paced part, also on one that loses frames."""
        self._results.start(self._plan)
        self._run_on(Card(rate_mbit=self._plan.rate_mbit), list(self._plan.bursts()))
        for loss in (0.0, LINK_LOSS):
            paced = [case for case in self._plan.paced() if case.link_loss == loss]
            self._run_on(Card(rate_mbit=self._plan.rate_mbit, loss=loss), paced)
        if self.failures:
            self._results.note(failures=self.failures)

    def _run_on(self, card: Card, cases: list[BurstCase]) -> None:
        """Hosts are built anew after a failure; a case that fails is noted and tried once more.

        A link that loses frames may lose a declaration, which Zenoh does not repeat over UDP.
        """
        left = [case for case in cases if not self._results.has_case(case)]
        failed: set[BurstCase] = set()
        nodes = (Node(1, "router", Card(rate_mbit=card.rate_mbit)), Node(2, "router", card, (1,)))
        while left:
            with EmulatedNetwork(Topology("burst", nodes)) as network:
                hosts = _Hosts(network)
                while left:
                    case = left.pop(0)
                    self._on_case(case.name)
                    try:
                        self._results.keep(case, hosts.run(case, self._plan.samples))
                    except EmulationError as error:
                        self.failures.append(f"{case.name}: {error}")
                        if case not in failed:
                            failed.add(case)
                            left.insert(0, case)
                        break


class _Hosts:
    """A sender and a receiver."""

    def __init__(self, network: EmulatedNetwork) -> None:
        sender, receiver = network.topology.nodes
        self._address = receiver.address
        role = "zonal_lab.reliability.roles"
        self._sender = network.start(sender, [sys.executable, "-m", f"{role}.sender"])
        self._receiver = network.start(receiver, [sys.executable, "-m", f"{role}.receiver"])

    def run(self, case: BurstCase, samples: int) -> BurstFigures:
        """All samples of a case in one pair of sessions."""
        endpoint = [f"{case.transport}/{self._address}:{PORT}"]
        self._ask(self._receiver, "open", stack=case.stack, listen=endpoint)
        self._ask(
            self._sender,
            "open",
            stack=case.stack,
            connect=endpoint,
            reliable=case.reliable,
            block=case.block,
            cache=case.count + 1000,
        )
        lost, seconds, trips, copies = [], [], [np.zeros(0)], 0
        for _ in range(samples):
            self._ask(self._sender, "probe")
            self._ask(self._receiver, "forget")
            order = {"count": case.count, "size": case.size, "rate_hz": case.rate_hz}
            seconds.append(float(self._ask(self._sender, "burst", **order)["seconds"]))
            heard = self._settled(case)
            lost.append(1 - heard["received"] / case.count)
            copies += heard["copies"]
            trips.append(np.array(self._ask(self._sender, "answers")["rtt_ms"]))
        for worker in (self._sender, self._receiver):
            self._ask(worker, "close")
        return BurstFigures(asdict(case), lost, copies, seconds, _spread(np.concatenate(trips)))

    def _settled(self, case: BurstCase) -> dict[str, Any]:
        """Wait until everything has come in, or nothing more does."""
        quiet = _RECOVERY_QUIET_S if case.stack == "recovery" else _QUIET_S
        last: dict[str, Any] = {}
        changed = begun = time.monotonic()
        while time.monotonic() - begun < _DRAIN_S:
            heard = self._ask(self._receiver, "count")
            if heard != last:
                last, changed = heard, time.monotonic()
            elif heard["received"] == case.count or time.monotonic() - changed > quiet:
                break
            time.sleep(0.05)
        return last

    def _ask(self, worker: Worker, order: str, **details: Any) -> dict[str, Any]:
        return worker.ask({"do": order, **details}, _PATIENCE_S * 3)


def _spread(trips: np.ndarray) -> list[float]:
    if not len(trips):
        return []
    five = np.percentile(trips, (0.5, 25, 50, 75, 99.5)).tolist()
    return [*five, float(trips.mean()), float(trips.max())]

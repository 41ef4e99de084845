"""How the cases of `reliability` are run: between two emulated hosts."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from zonal_lab.emulation import Card, EmulatedNetwork, hosts_in_a_row
from zonal_lab.experiment import Outcome, Trial
from zonal_lab.reliability.hosts import Hosts
from zonal_lab.reliability.plan import ReliabilityCase
from zonal_lab.reliability.samples import ROUND_TRIPS, round_trip_table
from zonal_lab.systems import router_words

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from pathlib import Path

    from zonal_lab.experiment import Results
    from zonal_lab.reliability.plan import ReliabilityPlan


_CASE_S = 0.5
_WHOLE_S, _LOSSY_S, _PACED_S = 0.45, 0.22, 0.2
"""A burst that waits for the wire, one that mostly is thrown away, what a steady rate adds."""
_MESSAGE_S = {"zenoh": 1e-6, "session": 4e-6, "recovery": 2e-5}
"""What each message of a burst adds; recovery asks again for a share of them."""


def _sample_s(case: ReliabilityCase) -> float:
    """About how long one sample takes."""
    if case.rate_hz:
        return case.count / case.rate_hz + _PACED_S
    # Plain Zenoh throws best effort away however it is blocked.
    waits = case.block and (case.reliable or case.stack != "zenoh")
    return (_WHOLE_S if waits else _LOSSY_S) + case.count * _MESSAGE_S[case.stack]


class ReliabilityTrial(Trial[ReliabilityCase]):
    """Bursts and paced messages with the options set.

    Args:
        plan: what to run.
        zenohd: the program of the router between the ends, where the plan says so.
    """

    def __init__(self, plan: ReliabilityPlan, zenohd: Path | None = None) -> None:
        super().__init__(plan)
        self._plan = plan
        self._zenohd = None if zenohd is None else str(zenohd.absolute())

    def prepare(self, results: Results) -> dict[str, str]:
        """Nothing is needed; a `zenohd` must start."""
        del results
        return router_words(self._zenohd)

    def group_of(self, case: ReliabilityCase) -> Hashable:
        """Hosts for the bursts, for the paced part, and for the link that loses frames."""
        return bool(case.rate_hz), case.link_loss

    def seconds_of(self, case: ReliabilityCase) -> float:
        """Sending and counting, once a sample, as two cores do it, and two sessions a case."""
        return self._plan.samples_of(case) * _sample_s(case) + _CASE_S

    @contextlib.contextmanager
    def stage(self, case: ReliabilityCase) -> Iterator[Callable[[ReliabilityCase], Outcome]]:
        """A sender and a receiver on one wire, a router's host beside them where there is one."""
        rate = self._plan.rate_mbit
        cards = [Card(rate_mbit=rate), Card(rate_mbit=rate, loss=case.link_loss)]
        if self._zenohd is not None:
            cards.append(Card(rate_mbit=rate))
        topology = hosts_in_a_row("reliability", cards)
        with EmulatedNetwork(topology, seed=self._plan.seed) as network:
            hosts = Hosts.in_network(network, self._zenohd)
            yield lambda each: self._run(hosts, each)

    def _run(self, hosts: Hosts, case: ReliabilityCase) -> Outcome:
        sent, late = hosts.run(case, self._plan.samples_of(case))
        return Outcome(
            {
                "lost": [1 - each.received / case.count for each in sent],
                "copies": sum(each.copies for each in sent),
                "seconds": [each.seconds for each in sent],
                "late": late,
            },
            {ROUND_TRIPS: round_trip_table(sent)},
        )

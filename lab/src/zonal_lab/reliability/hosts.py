"""A sender and a receiver in two nodes, and what a sample of a case gave."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from zonal_lab.systems import ROUTER, ZENOH_PORT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zonal_lab.emulation import EmulatedNetwork, Worker
    from zonal_lab.reliability.plan import ReliabilityCase

ROLES = "zonal_lab.reliability.roles"
_PATIENCE_S = 120.0
_QUIET_S = 0.15
"""What is missing is lost when nothing came for so long after the word that it was all."""
_UNHEARD_QUIET_S = 0.8
"""The same where that word did not get through."""
_RECOVERY_QUIET_S = 12.0
"""Recovery gives up after 10 s. It is not told of the end, which would show it what is missing."""
_DRAIN_S = 60.0


@dataclass(frozen=True)
class Sample:
    """What became of the messages of one sample: distinct ones, copies, the time to send them.

    `round_trips_us` has one entry for each message that was answered.
    """

    received: int
    copies: int
    seconds: float
    round_trips_us: NDArray[np.int32]


class Hosts:
    """The two processes, and the router's between them; they end with the network.

    Without a router the receiver listens, and the sender connects to it.

    Args:
        sender: the process that sends.
        receiver: the one that answers.
        at: address and port of whoever listens.
        router: the process of a router, and the program that it runs.
    """

    def __init__(
        self,
        sender: Worker,
        receiver: Worker,
        at: tuple[str, int],
        router: tuple[Worker, str] | None = None,
    ) -> None:
        self._sender, self._receiver, self._router = sender, receiver, router
        self._at = "{}:{}".format(*at)

    @classmethod
    def in_network(cls, network: EmulatedNetwork, zenohd: str | None = None) -> Self:
        """Sender and receiver in the first two nodes; in a third one the router, if any."""
        sender, receiver, *others = network.topology.nodes
        router = None
        if others and zenohd is not None:
            router = network.start_role(others[0], ROUTER), zenohd
        return cls(
            network.start_role(sender, f"{ROLES}.sender"),
            network.start_role(receiver, f"{ROLES}.receiver"),
            ((others[0] if others else receiver).address, ZENOH_PORT),
            router,
        )

    def run(self, case: ReliabilityCase, samples: int) -> tuple[list[Sample], int]:
        """All samples of a case in one pair of sessions; how much came when it had been counted."""
        self._open(case)
        found = [self._sample(case, number) for number in range(samples)]
        late = int(_ask(self._receiver, "late")["late"])
        for worker in (self._sender, self._receiver, *(self._router or ())[:1]):
            _ask(worker, "close")
        return found, late

    def _open(self, case: ReliabilityCase) -> None:
        endpoint = [f"{case.transport}/{self._at}"]
        to, at = {"mode": "peer", "connect": endpoint}, {"mode": "peer", "listen": endpoint}
        if self._router is not None:
            router, program = self._router
            _ask(router, "open", listen=endpoint, connect=[], program=program)
            to = at = to | {"mode": "client"}  # a router passes nothing on between peers
        _ask(self._receiver, "open", stack=case.stack, way=at)
        _ask(
            self._sender,
            "open",
            stack=case.stack,
            way=to,
            reliable=case.reliable,
            block=case.block,
            cache=case.count + 1000,
        )

    def _sample(self, case: ReliabilityCase, number: int) -> Sample:
        _ask(self._sender, "probe")
        _ask(self._receiver, "expect", sample=number, count=case.count)
        order = {"sample": number, "count": case.count, "size": case.size, "rate_hz": case.rate_hz}
        seconds = float(_ask(self._sender, "send", **order)["seconds"])
        quiet_s = self._quiet_s(case)
        heard = self._settled("settle", self._receiver, case.count, quiet_s)
        kept = self._settled("answers", self._sender, heard["received"], _QUIET_S)["rtt_us"]
        trips = np.frombuffer(base64.b64decode(kept), np.int32)
        return Sample(heard["received"], heard["copies"], seconds, trips)

    def _quiet_s(self, case: ReliabilityCase) -> float:
        """How long a silence tells that the rest is lost; the receiver has heard the end by then.

        What ends a sample goes the way of its messages: whoever hears it has heard them, too.
        """
        if case.stack == "recovery":
            return _RECOVERY_QUIET_S
        heard = _ask(self._sender, "finish", longest_s=_DRAIN_S)["heard"]
        return _QUIET_S if heard else _UNHEARD_QUIET_S

    def _settled(self, order: str, worker: Worker, wanted: int, quiet_s: float) -> dict[str, Any]:
        return _ask(worker, order, wanted=wanted, quiet_s=quiet_s, longest_s=_DRAIN_S)


def _ask(worker: Worker, order: str, **details: Any) -> dict[str, Any]:
    return worker.ask({"do": order, **details}, _PATIENCE_S)

"""A sender and a receiver in two nodes, and what a sample of a case gave."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zonal_lab.systems import ROUTER, ZENOH_PORT

if TYPE_CHECKING:
    from zonal_lab.emulation import EmulatedNetwork, Worker
    from zonal_lab.reliability.plan import ReliabilityCase

_ROLES = "zonal_lab.reliability.roles"
_PATIENCE_S = 120.0
# What is missing is lost when nothing more came for so long. Recovery gives up after 10 s.
_QUIET_S, _RECOVERY_QUIET_S, _DRAIN_S = 0.8, 12.0, 60.0


@dataclass(frozen=True)
class Sample:
    """What became of the messages of one sample: distinct ones, copies, the time to send them.

    `round_trips_ms` has one entry for each message that was answered.
    """

    received: int
    copies: int
    seconds: float
    round_trips_ms: list[float]


class Hosts:
    """The two processes, and the router's between them; they end with the network.

    Without a router the receiver listens, and the sender connects to it.
    """

    def __init__(self, network: EmulatedNetwork, zenohd: str | None = None) -> None:
        sender, receiver, *router = network.topology.nodes
        self._zenohd = zenohd
        self._router = network.start_role(router[0], ROUTER) if router else None
        self._address = (router[0] if router else receiver).address
        self._sender = network.start_role(sender, f"{_ROLES}.sender")
        self._receiver = network.start_role(receiver, f"{_ROLES}.receiver")

    def run(self, case: ReliabilityCase, samples: int) -> list[Sample]:
        """All samples of a case in one pair of sessions."""
        endpoint = [f"{case.transport}/{self._address}:{ZENOH_PORT}"]
        to, at = {"mode": "peer", "connect": endpoint}, {"mode": "peer", "listen": endpoint}
        if self._router is not None:
            _ask(self._router, "open", listen=endpoint, connect=[], program=self._zenohd)
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
        found = [self._sample(case) for _ in range(samples)]
        for worker in (self._sender, self._receiver, self._router):
            if worker is not None:
                _ask(worker, "close")
        return found

    def _sample(self, case: ReliabilityCase) -> Sample:
        _ask(self._sender, "probe")
        _ask(self._receiver, "forget")
        order = {"count": case.count, "size": case.size, "rate_hz": case.rate_hz}
        seconds = float(_ask(self._sender, "send", **order)["seconds"])
        heard = self._settled(case)
        round_trips = _ask(self._sender, "answers")["rtt_ms"]
        return Sample(heard["received"], heard["copies"], seconds, round_trips)

    def _settled(self, case: ReliabilityCase) -> dict[str, Any]:
        """Wait until everything has come in, or nothing more does."""
        quiet = _RECOVERY_QUIET_S if case.stack == "recovery" else _QUIET_S
        last: dict[str, Any] = {}
        changed = begun = time.monotonic()
        while time.monotonic() - begun < _DRAIN_S:
            heard = _ask(self._receiver, "count")
            if heard != last:
                last, changed = heard, time.monotonic()
            elif heard["received"] == case.count or time.monotonic() - changed > quiet:
                break
            time.sleep(0.05)
        return last


def _ask(worker: Worker, order: str, **details: Any) -> dict[str, Any]:
    return worker.ask({"do": order, **details}, _PATIENCE_S)

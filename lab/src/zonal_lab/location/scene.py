"""A built network with a process in every node, on which cases are run one after the other."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal_lab.emulation import wait_until
from zonal_lab.systems import ROUTER, ZENOH_PORT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from zonal_lab.emulation import EmulatedNetwork, Node, Topology, Worker
    from zonal_lab.location.plan import LocationCase, Transport

_ROLES = "zonal_lab.location.roles"
_SETUP_PATIENCE_S = 40.0
# A queue is empty when nothing has come for this long, and is given up after that long.
_QUIET_S = 0.6
_DRAIN_S = 15.0


@dataclass(frozen=True)
class SceneRun:
    """What one case gave: messages at the subscribers, and counts at every node."""

    case: LocationCase
    seconds: float
    sent: dict[int, int]
    # publisher, number, sent_ns, received_ns; one row a wanted message, by subscriber
    messages: dict[int, NDArray[np.int64]]
    received: dict[int, int]
    unwanted: dict[int, int]
    pace: dict[int, dict[str, float]]
    nodes: dict[int, dict[str, float]]
    load: float
    setup_s: float = 0.0
    notes: list[str] = field(default_factory=list)


class Scene:
    """Roles in the nodes of a network."""

    def __init__(self, network: EmulatedNetwork, zenohd: str | None = None) -> None:
        self._network = network
        self._zenohd = zenohd
        self.topology: Topology = network.topology
        self._workers: dict[int, Worker] = {}
        for node in self.topology.nodes:
            module = ROUTER if node.role == "router" else f"{_ROLES}.{node.role}"
            self._workers[node.id] = network.start_role(node, module)

    def run(self, case: LocationCase, seconds: float, *, skip_ms: int = 0) -> SceneRun:
        """Open all sessions, publish for so long, collect, close all sessions."""
        begun = time.monotonic()
        self._open(case)
        self._await_routes()
        outcome = self._measure(case, seconds, skip_ms, time.monotonic() - begun)
        # Not in a finally: after a failure the roles are in no known state, and the network with
        # all of them is taken down.
        self._close()
        return outcome

    # ---- orders to many -------------------------------------------------------------------

    def _ask_all(
        self, nodes: Sequence[Node], order: Callable[[Node], dict[str, Any]], patience_s: float
    ) -> dict[int, dict[str, Any]]:
        for node in nodes:
            self._workers[node.id].say(order(node))
        return {node.id: self._workers[node.id].hear(patience_s) for node in nodes}

    def _routers(self) -> tuple[Node, ...]:
        return self.topology.with_role("router")

    def _publishers(self) -> tuple[Node, ...]:
        return self.topology.with_role("publisher")

    def _subscribers(self) -> tuple[Node, ...]:
        return self.topology.with_role("subscriber")

    # ---- opening and closing --------------------------------------------------------------

    def _open(self, case: LocationCase) -> None:
        for node in self._routers():
            if case.cpu_percent < 100 or self._network.limits_cpu:
                self._network.limit_cpu(node, self._workers[node.id], 1.0)
        self._open_routers(case.transport)
        self._ask_all(
            self._subscribers(),
            lambda node: {
                "do": "open",
                "name": case.technique,
                "connect": self._endpoint(case.transport, node.routers[0]),
                "area": node.area,
                "circle": {
                    "around": node.around,
                    "radius_m": node.radius_m,
                    "to": node.to,
                    "speed_m_s": node.speed_m_s,
                },
            },
            _SETUP_PATIENCE_S,
        )
        self._ask_all(
            self._publishers(),
            lambda node: {
                "do": "open",
                "id": node.id,
                "name": case.technique,
                "connect": self._endpoint(case.transport, node.routers[0]),
                "places": node.places,
                "walk": {"at": node.at, "to": node.to, "speed_m_s": node.speed_m_s}
                if node.moves
                else None,
            },
            _SETUP_PATIENCE_S,
        )

    def _open_routers(self, transport: Transport) -> None:
        self._ask_all(
            self._routers(),
            lambda node: {
                "do": "open",
                "listen": f"{transport}/{node.address}:{ZENOH_PORT}",
                "connect": [self._endpoint(transport, each) for each in node.routers],
                "program": self._zenohd,
            },
            _SETUP_PATIENCE_S,
        )
        neighbours: dict[int, set[int]] = {node.id: set(node.routers) for node in self._routers()}
        for node in self._routers():
            for other in node.routers:
                neighbours[other].add(node.id)

        def linked() -> bool:
            seen = self._ask_all(self._routers(), lambda _: {"do": "linked"}, 10)
            return all(seen[each]["routers"] == len(near) for each, near in neighbours.items())

        wait_until(linked, _SETUP_PATIENCE_S, "the routers did not link up")

    def _endpoint(self, transport: Transport, router: int) -> str:
        return f"{transport}/{self.topology[router].address}:{ZENOH_PORT}"

    def _await_routes(self) -> None:
        """Probe until every subscriber has heard every publisher that it is to hear."""
        publishers = {node.id for node in self._publishers()}
        wanted = {
            sub.id: {pub.id for pub in self._publishers() if self.topology.wants(sub, pub)}
            for sub in self._subscribers()
        }

        def heard() -> bool:
            self._ask_all(self._publishers(), lambda _: {"do": "probe"}, 10)
            answers = self._ask_all(self._subscribers(), lambda _: {"do": "heard"}, 10)
            return all(
                wanted[each] <= set(answer["probed"]) and publishers <= set(answer["ready"])
                for each, answer in answers.items()
            )

        wait_until(heard, _SETUP_PATIENCE_S, "not every subscriber hears its publishers")

    def _close(self) -> None:
        for role in ("publisher", "subscriber", "router"):
            self._ask_all(self.topology.with_role(role), lambda _: {"do": "close"}, 30)

    # ---- the measured part ----------------------------------------------------------------

    def _measure(
        self, case: LocationCase, seconds: float, skip_ms: int, setup_s: float
    ) -> SceneRun:
        if case.cpu_percent < 100:
            for node in self._routers():
                share = case.cpu_percent / 100
                self._network.limit_cpu(node, self._workers[node.id], share)
        self._quiet()
        self._ask_all(self._subscribers(), lambda _: {"do": "mark"}, 10)
        before = self._ask_all(self.topology.nodes, lambda _: {"do": "read"}, 10)
        self._network.restart_traces(skip_ms)
        start_ns = time.monotonic_ns() + 50_000_000
        self._ask_all(self._subscribers(), lambda _: {"do": "set_out", "start_ns": start_ns}, 10)
        pace = self._ask_all(
            self._publishers(),
            lambda node: {
                "do": "publish",
                "rate_hz": node.rate_hz,
                "start_ns": start_ns,
                "seconds": seconds,
            },
            seconds + 60,
        )
        after = self._ask_all(self.topology.nodes, lambda _: {"do": "read"}, 10)
        notes = [] if self._quiet() else [f"queues were not empty after {_DRAIN_S:g} s"]
        messages, counts = self._collect()
        return SceneRun(
            case=case,
            seconds=seconds,
            sent={each: int(kept["sent"]) for each, kept in pace.items()},
            messages=messages,
            received={each: count["received"] for each, count in counts.items()},
            unwanted={each: count["unwanted"] for each, count in counts.items()},
            pace=pace,
            nodes={each: _difference(before[each], after[each]) for each in after},
            load=os.getloadavg()[0],
            setup_s=setup_s,
            notes=notes,
        )

    def _quiet(self) -> bool:
        """Wait until no subscriber receives anything any more."""
        last: dict[int, dict[str, Any]] = {}
        changed = time.monotonic()
        deadline = changed + _DRAIN_S
        while time.monotonic() < deadline:
            counts = self._ask_all(self._subscribers(), lambda _: {"do": "count"}, 10)
            if counts != last:
                last, changed = counts, time.monotonic()
            elif time.monotonic() - changed > _QUIET_S:
                return True
            time.sleep(0.05)
        return False

    def _collect(self) -> tuple[dict[int, NDArray[np.int64]], dict[int, dict[str, Any]]]:
        with tempfile.TemporaryDirectory(prefix="zonal-lab-") as folder:
            counts = self._ask_all(
                self._subscribers(),
                lambda node: {"do": "keep", "path": f"{folder}/{node.id}"},
                30,
            )
            messages = {
                each: np.fromfile(Path(folder) / str(each), dtype=np.int64).reshape(-1, 4)
                for each in counts
            }
        return messages, counts


def _difference(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    return {name: after[name] - before[name] for name in after}

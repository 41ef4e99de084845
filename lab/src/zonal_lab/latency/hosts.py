"""The hosts of a scenario with everything that runs in them, on which cases are echoed."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonal_lab.latency.stacks import PORTS, stack
from zonal_lab.systems import (
    BROKER_PORT,
    MOSQUITTO_PORT,
    ROUTER,
    encrypted_links,
    geo_broker_command,
    mosquitto_command,
    write_passwords,
)

if TYPE_CHECKING:
    from zonal_lab.emulation import EmulatedNetwork, Node, Worker
    from zonal_lab.latency.plan import LatencyCase
    from zonal_lab.latency.scenarios import Scenario
    from zonal_lab.latency.stacks import Transport

FEDERATION_PORT = 7448
_ROLES = "zonal_lab.latency.roles"
_PATIENCE_S = 40.0
# A lost echo is given up after this long; no link here holds a message back for longer.
_LOST_AFTER_S = 15.0
_STRETCH_MS = 5000


@dataclass(frozen=True)
class Echoes:
    """What one case gave: round trips (None: lost), and what the near end's card carried."""

    case: LatencyCase
    rtt_ns: list[int | None]
    near_bytes: int
    near_cpu_s: float


class Hosts:
    """Routers, brokers and the two ends of a scenario; they stand as long as the network does."""

    def __init__(
        self, network: EmulatedNetwork, scenario: Scenario, zenohd: str | None = None
    ) -> None:
        self._network = network
        self._zenohd = zenohd
        self._scenario = scenario
        self._nodes = network.topology.nodes
        self._closing = contextlib.ExitStack()
        self._folder = Path(self._closing.enter_context(tempfile.TemporaryDirectory()))
        self._tls = encrypted_links(self._folder)
        self._near = network.start_role(self._nodes[0], f"{_ROLES}.near")
        self._far = network.start_role(self._nodes[-1], f"{_ROLES}.far")
        self._bridge: Worker | None = None
        self._start_middles(self._nodes[1:-1])

    def close(self) -> None:
        """Remove the files of the brokers; their processes end with the network."""
        self._closing.close()

    # ---- routers and brokers --------------------------------------------------------------

    def _start_middles(self, nodes: tuple[Node, ...]) -> None:
        if not nodes:
            return
        passwords = write_passwords(self._folder)
        for before, node in zip((None, *nodes[:-1]), nodes, strict=True):
            self._start_router(node, before)
            mosquitto = mosquitto_command(node.address, MOSQUITTO_PORT, self._folder)
            self._network.start(node, mosquitto)
            self._start_broker(node, before, passwords, federated=len(nodes) > 1)
        if len(nodes) > 1:
            self._bridge = self._network.start_role(nodes[0], f"{_ROLES}.bridge")

    def _start_router(self, node: Node, before: Node | None) -> None:
        router = self._network.start_role(node, ROUTER)
        order = {
            "do": "open",
            "listen": [f"{each}/{node.address}:{port}" for each, port in PORTS.items()],
            "connect": [f"tcp/{before.address}:{PORTS['tcp']}"] if before else [],
            "tls": self._tls,
            "program": self._zenohd,
        }
        router.ask(order, _PATIENCE_S)

    def _start_broker(
        self, node: Node, before: Node | None, passwords: Path, *, federated: bool
    ) -> None:
        """Our geo broker; several of them are one over Zenoh, without a bridge client."""
        options = ["--passwords", str(passwords)]
        if federated and before is None:
            # Nobody but the other broker is in this network.
            options += ["--listen", f"tcp/{node.address}:{FEDERATION_PORT}", "--insecure"]
            options += ["--zenoh-mode", "peer"]
        elif before is not None:
            options += ["--connect", f"tcp/{before.address}:{FEDERATION_PORT}"]
            options += ["--zenoh-mode", "peer"]
        self._network.start(node, geo_broker_command(node.address, BROKER_PORT, *options))

    # ---- one case -------------------------------------------------------------------------

    def run(self, case: LatencyCase, count: int, size: int) -> Echoes:
        """Open both ends, make sure that the way stands, echo, close."""
        chosen = stack(case.stack)
        bridged = self._bridge is not None and chosen.family == "mqtt"
        if bridged:
            self._open_bridge(chosen.qos)
        ways = (
            (self._far, self._far_place(chosen.transport)),
            (self._near, self._near_place(chosen.transport)),
        )
        for worker, where in ways:
            places = where[chosen.family]
            worker.ask({"do": "open", "stack": case.stack, "where": places}, _PATIENCE_S)
        self._near.ask({"do": "probe"}, _PATIENCE_S)
        # All stacks of a round meet the same stretch of the trace.
        self._network.restart_traces(case.round * _STRETCH_MS)
        echoes = self._measure(case, count, size)
        for each in (self._near, self._far, self._bridge if bridged else None):
            if each is not None:
                each.ask({"do": "close"}, _PATIENCE_S)
        return echoes

    def _measure(self, case: LatencyCase, count: int, size: int) -> Echoes:
        before = self._near.ask({"do": "read"}, 10)
        order = {"do": "echo", "count": count, "size": size, "lost_after_s": _LOST_AFTER_S}
        answer = self._near.ask(order, 60 + count * _LOST_AFTER_S)
        after = self._near.ask({"do": "read"}, 10)
        carried = sum(after[each] - before[each] for each in ("sent_bytes", "received_bytes"))
        used = after["cpu_seconds"] - before["cpu_seconds"]
        return Echoes(case, answer["rtt_ns"], int(carried), used)

    def _open_bridge(self, qos: int) -> None:
        assert self._bridge is not None
        brokers = [(node.address, MOSQUITTO_PORT) for node in self._nodes[1:-1]]
        self._bridge.ask({"do": "open", "brokers": brokers, "qos": qos}, _PATIENCE_S)

    def _near_place(self, transport: Transport) -> dict[str, dict[str, Any]]:
        """The near end is a peer, in every scenario of Barón 2024."""
        return self._place(self._nodes[1], transport, mode="peer")

    def _far_place(self, transport: Transport) -> dict[str, dict[str, Any]]:
        """The far end is a client of its router; without one, the peer that listens."""
        if self._scenario.middles:
            return self._place(self._nodes[-2], transport, mode="client")
        return self._place(None, transport, mode="peer")

    def _place(self, to: Node | None, transport: Transport, *, mode: str) -> dict[str, Any]:
        """How an end reaches another node; None: it listens itself."""
        host = to or self._nodes[-1]
        endpoint = [f"{transport}/{host.address}:{PORTS[transport]}"]
        listen, connect = ([], endpoint) if to else (endpoint, [])
        zenoh = {"mode": mode, "listen": listen, "connect": connect, "tls": self._tls}
        address = to.address if to else ""
        return {
            "zenoh": zenoh,
            "session": zenoh,
            "mqtt": {"broker": (address, MOSQUITTO_PORT)},
            "broker": {"broker": (address, BROKER_PORT)},
        }

"""An emulated network on one machine: a namespace and one shaped card per node, on one switch."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Self

from zonal_lab.emulation.cpu import CpuGroups
from zonal_lab.emulation.machine import examine_machine
from zonal_lab.emulation.namespaces import Namespace
from zonal_lab.emulation.port import Direction, Port
from zonal_lab.emulation.runs import RunRecord, remove_leftovers
from zonal_lab.emulation.worker import Worker
from zonal_lab.errors import EmulationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from zonal_lab.emulation.topology import Card, Node, Topology

CARD = "eth0"
_BURST_BYTES = 5000
_NICE = -10
_RELAY_NICE = -15


class EmulatedNetwork:
    """Builds a topology, starts processes in its nodes, and takes everything down again.

    Args:
        topology: what to build.
        traces: the file of each trace that the topology names.
        netem: use the kernel's netem for delay and loss (None: where the kernel has it).
        seed: of the relay's losses.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        traces: Mapping[str, Path] | None = None,
        netem: bool | None = None,
        seed: int = 1,
    ) -> None:
        self.topology = topology
        self._traces = dict(traces or {})
        self._netem = netem
        self._seed = seed
        self._closing = contextlib.ExitStack()
        self._spaces: dict[int, Namespace] = {}
        self._relay: Worker | None = None
        self._limited: CpuGroups | None = None

    def __enter__(self) -> Self:
        machine = examine_machine()
        machine.require()
        remove_leftovers()
        if self._netem is None:
            self._netem = machine.netem
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def run_id(self) -> str:
        """The name of this run in the register of running emulations."""
        return self._record.run

    def close(self) -> None:
        """End the processes, then remove groups, cards, switch and namespaces."""
        self._closing.close()

    def _build(self) -> None:
        self._record = RunRecord()
        self._closing.callback(self._record.close)
        # Undone last in, first out: groups can only go after the processes in them.
        self._closing.callback(self._remove_groups)
        self._switch = self._closing.enter_context(Namespace("switch"))
        self._switch.batch(
            "ip",
            [
                "link add br0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0",
                "link set br0 up",
            ],
        )
        for node in self.topology.nodes:
            self._spaces[node.id] = self._closing.enter_context(Namespace(node.name))
        self._plug_relayed([node for node in self.topology.nodes if self._needs_relay(node.card)])
        for node in self.topology.nodes:
            if not self._needs_relay(node.card):
                self._plug_veth(node)
            self._address(node)
            self._shape(node)

    def _needs_relay(self, card: Card) -> bool:
        impaired = card.delay_ms > 0 or card.loss > 0
        return card.has_trace or (impaired and not self._netem)

    def _plug_veth(self, node: Node) -> None:
        space = self._spaces[node.id]
        self._switch.batch(
            "ip",
            [
                f"link add p{node.id} type veth peer name {CARD} netns {space.path}",
                f"link set p{node.id} gso_max_segs 1 gro_max_size 1500 master br0 up",
            ],
        )

    def _plug_relayed(self, nodes: Sequence[Node]) -> None:
        if not nodes:
            return
        ports = [self._port(node) for node in nodes]
        self._relay = self._start(
            "relay", self._switch, [sys.executable, "-m", "zonal_lab.emulation.relay"]
        )
        self._relay.say({"ports": [port.to_json() for port in ports]})
        self._relay.hear(20)
        self._switch.batch("ip", [f"link set p{node.id} master br0 up" for node in nodes])

    def _port(self, node: Node) -> Port:
        card = node.card
        # With netem the kernel delays and loses, also on a TAP device; the relay plays the trace.
        delay, loss = (0.0, 0.0) if self._netem else (card.delay_ms, card.loss)
        ways = [
            Direction(
                delay_ms=delay,
                loss=loss,
                trace=None if trace is None else str(self._trace_file(trace)),
                seed=self._seed * 1000 + node.id * 2 + way,
            )
            for way, trace in enumerate((card.trace_out, card.trace_in))
        ]
        return Port(
            node=node.name,
            node_namespace=self._spaces[node.id].path,
            node_device=CARD,
            switch_namespace=self._switch.path,
            switch_device=f"p{node.id}",
            outward=ways[0],
            inward=ways[1],
        )

    def _trace_file(self, name: str) -> Path:
        if name not in self._traces:
            raise EmulationError(f"{self.topology.name} needs a file for the trace {name}")
        return self._traces[name]

    def _address(self, node: Node) -> None:
        others = [other for other in self.topology.nodes if other.id != node.id]
        self._spaces[node.id].batch(
            "ip",
            [
                f"link set {CARD} address {_mac(node)} gso_max_segs 1 up",
                f"addr add {node.address}/24 dev {CARD}",
                # Known neighbours: a lost ARP request would look like a second of latency.
                *(f"neigh add {each.address} lladdr {_mac(each)} dev {CARD}" for each in others),
            ],
        )

    def _shape(self, node: Node) -> None:
        """The same limit on both ends of the wire: what the node sends, and what it is sent."""
        for space, device in ((self._spaces[node.id], CARD), (self._switch, f"p{node.id}")):
            space.batch("tc", shaping(device, node.card, netem=bool(self._netem)))

    def _start(self, name: str, space: Namespace, command: Sequence[str]) -> Worker:
        worker = Worker(name, space.command(*command))
        with contextlib.suppress(PermissionError):
            # Emulated nodes have a machine of their own: what else runs here must not slow them.
            os.setpriority(os.PRIO_PROCESS, worker.pid, _RELAY_NICE if name == "relay" else _NICE)
        self._record.add_process(worker.pid)
        self._closing.callback(worker.end)
        return worker

    def start(self, node: Node, command: Sequence[str]) -> Worker:
        """Start a process in a node; it ends with the network."""
        return self._start(node.name, self._spaces[node.id], command)

    def start_role(self, node: Node, module: str) -> Worker:
        """Start a Python module as a process in a node; it ends with the network."""
        return self.start(node, [sys.executable, "-m", module])

    def run(self, node: Node, *argv: str) -> str:
        """Run a short command in a node and return what it printed."""
        return self._spaces[node.id].run(*argv)

    def limit_cpu(self, node: Node, worker: Worker, share: float) -> None:
        """Let a node's process use `share` of one core; 1 lifts the limit."""
        if self._limited is None:
            self._limited = CpuGroups(self._record.run)
        self._limited.limit(node.name, share)
        self._limited.add(node.name, worker.pid)

    @property
    def limits_cpu(self) -> bool:
        """Whether any node has been put under a limit."""
        return self._limited is not None

    def _remove_groups(self) -> None:
        if self._limited is not None:
            self._limited.close()

    def restart_traces(self, skip_ms: int = 0) -> None:
        """Play all traces from the same place again, so that every run meets the same link."""
        if self._relay is not None:
            self._relay.say({"do": "restart", "skip_ms": skip_ms})
            self._relay.hear(10)

    def relay_counts(self) -> dict[str, dict[str, int]]:
        """Frames that each relayed direction carried, lost and had no room for."""
        if self._relay is None:
            return {}
        self._relay.say({"do": "stats"})
        return self._relay.hear(10)


def _mac(node: Node) -> str:
    return f"02:5a:4c:00:00:{node.id:02x}"


def shaping(device: str, card: Card, *, netem: bool) -> list[str]:
    """The `tc` lines for one end of a card: a token bucket, and netem below it where it is used."""
    lines = []
    impaired = netem and (card.delay_ms > 0 or card.loss > 0)
    if card.rate_mbit is not None:
        lines.append(
            f"qdisc replace dev {device} root handle 1: tbf rate {card.rate_mbit:g}mbit"
            f" burst {_BURST_BYTES} latency {card.queue_ms:g}ms"
        )
    if impaired:
        parent = "root" if card.rate_mbit is None else "parent 1:1"
        loss = f" loss {card.loss * 100:g}%" if card.loss else ""
        delay = f" delay {card.delay_ms:g}ms" if card.delay_ms else ""
        queue = f"{parent} handle 10: netem limit 10000"
        lines.append(f"qdisc replace dev {device} {queue}{delay}{loss}")
    return lines

"""The launcher: many real mesh processes on one machine, each with its own neighbours only."""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING, Any

from zonal.errors import MeshError
from zonal.mesh import MeshConfig
from zonal_lab.psvr.processes.cables import CableNet
from zonal_lab.psvr.processes.handle import NodeProcess
from zonal_lab.psvr.processes.node import NodeSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

    from zonal.mesh import Address

Losses = dict[tuple[int, int], float]
"""Directed links (sender, receiver) and the share of packets that each loses."""


class Fleet:
    """Real processes that form a mesh over loopback, or over network namespaces; needs closing.

    Args:
        losses: the links, each direction by itself.
        config: of all nodes.
        seed: of everything that nodes and losses leave to chance.
        namespaces: whether each node gets a network namespace of its own (needs root).
    """

    def __init__(
        self,
        losses: Mapping[tuple[int, int], float],
        config: MeshConfig | None = None,
        *,
        seed: int = 0,
        namespaces: bool = False,
    ) -> None:
        if not losses:
            raise MeshError("a fleet needs at least one link")
        self.losses: Losses = dict(losses)
        self.config = config or MeshConfig()
        self.seed = seed
        self.names = sorted({name for pair in losses for name in pair})
        self.net = CableNet(self.losses) if namespaces else None
        self.down: set[tuple[int, int]] = set()
        self.addresses: dict[int, Address] = {}
        self.published: dict[tuple[int, int], float] = {}
        self.delivered: dict[tuple[int, int], dict[int, float]] = {}
        self.reports: dict[int, dict[str, Any]] = {}
        self._processes: dict[int, NodeProcess] = {}

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        if self.net is not None:
            self.net.create()
        for name in self.names:
            address = self.net.everywhere if self.net else ("127.0.0.1", 0)
            spec = NodeSpec(name, self.config, self.seed, address)
            space = self.net.spaces[name] if self.net else None
            self._processes[name] = NodeProcess(spec, space)
        self.wait_until(lambda: len(self.addresses) == len(self.names), 60, "processes to be up")
        self.tell_peers()

    def tell_peers(self, only: Iterable[int] | None = None) -> None:
        """Give each process its neighbour table."""
        for name in self.names if only is None else only:
            peers = []
            for (a, b), loss in self.losses.items():
                if a == name and (self.net is not None or (a, b) not in self.down):
                    # In namespaces the kernel cuts links; else the neighbour table does.
                    address = self.net.address(b, a) if self.net else self.addresses[b]
                    peers.append((b, *address, loss))
            self._tell(name, "peers", peers)

    def cut(self, a: int, b: int) -> None:
        """Cut a link, both ways."""
        self.down |= {(a, b), (b, a)}
        self._change(a, b, up=False)

    def mend(self, a: int, b: int) -> None:
        """Mend a link."""
        self.down -= {(a, b), (b, a)}
        self._change(a, b, up=True)

    def _change(self, a: int, b: int, *, up: bool) -> None:
        if self.net is not None:
            self.net.set_link(a, b, up=up)
        else:
            self.tell_peers((a, b))

    def _tell(self, name: int, *order: Any) -> None:
        if name not in self._processes:
            raise MeshError(f"node {name} is not running")
        self._processes[name].order(*order)

    def subscribe(self, name: int, *channels: int) -> None:
        """Have a node subscribe."""
        self._tell(name, "subscribe", *channels)

    def unsubscribe(self, name: int, *channels: int) -> None:
        """Have a node unsubscribe."""
        self._tell(name, "unsubscribe", *channels)

    def publish(self, name: int, channel: int, text: str = "") -> None:
        """Have a node publish; `published` and `delivered` fill as events come in."""
        self._tell(name, "publish", channel, text)

    def kill(self, name: int) -> None:
        """End a node's process, hard."""
        self._processes.pop(name).end()
        self.names.remove(name)

    def ask(self) -> dict[int, dict[str, Any]]:
        """A report from every node."""
        self.reports = {}
        for name in self.names:
            self._tell(name, "report")
        self.wait_until(lambda: len(self.reports) == len(self.names), 30, "reports")
        return self.reports

    def agrees(self) -> bool:
        """Whether all nodes have one root and each its place on one ring."""
        reports = self.ask().values()
        roots = {report["tree"][0] for report in reports}
        places = sorted(p for report in reports for p in report["positions"])
        return len(roots) == 1 and places == list(range(2 * (len(self.names) - 1)))

    def wait_for_ring(self, seconds: float) -> None:
        """Wait until the nodes agree."""
        self.wait_until(self.agrees, seconds, "one ring over all nodes", step=0.5)

    def run(self, seconds: float) -> None:
        """Let the nodes work and take in what they report."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._take_in(left)

    def wait_until(
        self, condition: Callable[[], bool], seconds: float, what: str, step: float = 0.05
    ) -> None:
        """Take events in until the condition holds; `MeshError` if it does not in time."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise MeshError(f"waited {seconds} s for {what}, in vain")
            self.run(step)

    def _take_in(self, timeout: float) -> None:
        ready, _, _ = select.select(list(self._processes.values()), [], [], timeout)
        for process in ready:
            for event in process.events():
                self._event(event)

    def _event(self, event: list[Any]) -> None:
        match event:
            case ["up", name, [host, port]]:
                self.addresses[name] = (host, port)
            case ["published", name, serial, at]:
                self.published[name, serial] = at
            case ["delivered", name, origin, serial, at]:
                self.delivered.setdefault((origin, serial), {})[name] = at
            case ["report", name, report]:
                self.reports[name] = report

    def close(self) -> None:
        """End all processes, and take the namespaces away."""
        for process in self._processes.values():
            process.end()
        self._processes.clear()
        if self.net is not None:
            self.net.close()

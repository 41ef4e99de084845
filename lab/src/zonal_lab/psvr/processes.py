"""The launcher: many real mesh processes on one machine, each with its own neighbours only."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, NamedTuple

from zonal.errors import MeshError
from zonal.mesh.config import MeshConfig
from zonal.mesh.node import MeshNode
from zonal.mesh.udp import Peer, UdpDriver
from zonal_lab.psvr.namespaces import NamespaceNet, enter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from multiprocessing.process import BaseProcess
    from types import TracebackType
    from typing import Self

    from zonal.mesh.packets import Deliver

Losses = dict[tuple[int, int], float]
"""Directed links (sender, receiver) and the share of packets that each loses."""


class NodeSpec(NamedTuple):
    """What a process needs to know to be a node."""

    node: int
    config: MeshConfig
    seed: int
    namespace: str | None
    address: tuple[str, int]


def run_node(spec: NodeSpec, control: Connection) -> None:
    """The body of a node's process: commands in, events out, until told to stop."""
    if spec.namespace is not None:
        enter(spec.namespace)
    node = MeshNode(spec.node, spec.config, seed=spec.seed, now=time.monotonic())

    def deliver(effect: Deliver) -> None:
        control.send(("delivered", spec.node, effect.origin, effect.serial, time.monotonic()))

    driver = UdpDriver(node, address=spec.address, deliver=deliver, seed=spec.seed)
    control.send(("up", spec.node, driver.address))
    try:
        while True:
            if driver.turn([control]) and not _obey(driver, control):
                return
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return  # the launcher is gone
    finally:
        driver.close()


def _obey(driver: UdpDriver, control: Connection) -> bool:
    node, now = driver.node, time.monotonic()
    match control.recv():
        case ("peers", peers):
            driver.set_peers(peers)
        case ("subscribe", channels):
            for channel in channels:
                node.subscribe(channel, now)
        case ("unsubscribe", channels):
            for channel in channels:
                node.unsubscribe(channel)
        case ("publish", channels, data):
            effects = node.publish(channels, data, now)
            control.send(("published", node.id, node.serial, now))
            driver.carry_out(effects)
        case ("report",):
            control.send(("report", node.id, _report(driver)))
        case ("stop",):
            return False
    return True


def _report(driver: UdpDriver) -> dict[str, Any]:
    node = driver.node
    return {
        "tree": tuple(node.tree),
        "positions": node.place.positions if node.place else (),
        "length": node.place.length if node.place else 0,
        "links": sorted(node.links.used),
        "sent": driver.sent,
        "lost": driver.lost,
        "unknown": driver.unknown,
        **node.counters.as_dict(),
    }


class Fleet:
    """Real processes that form a mesh over loopback, or over network namespaces."""

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
        self.net = NamespaceNet(self.losses) if namespaces else None
        self.down: set[tuple[int, int]] = set()
        self.addresses: dict[int, tuple[str, int]] = {}
        self.published: dict[tuple[int, int], float] = {}
        self.delivered: dict[tuple[int, int], dict[int, float]] = {}
        self.reports: dict[int, dict[str, Any]] = {}
        self._controls: dict[int, Connection] = {}
        self._processes: dict[int, BaseProcess] = {}

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start(self) -> None:
        if self.net is not None:
            self.net.create()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["zonal_lab.psvr.processes"])
        for name in self.names:
            ours, theirs = context.Pipe()
            space = self.net.space(name) if self.net else None
            # Inside its own namespace a node listens on all its cards.
            address = ("0.0.0.0", 4000) if self.net else ("127.0.0.1", 0)  # noqa: S104
            spec = NodeSpec(name, self.config, self.seed, space, address)
            process = context.Process(target=run_node, args=(spec, theirs), daemon=True)
            process.start()
            theirs.close()
            self._controls[name], self._processes[name] = ours, process
        self.wait_until(lambda: len(self.addresses) == len(self.names), 60, "processes to be up")
        self.tell_peers()

    def tell_peers(self, only: Iterable[int] | None = None) -> None:
        """Give each process its neighbour table."""
        for name in self.names if only is None else only:
            peers = {}
            for (a, b), loss in self.losses.items():
                if a == name and (self.net is not None or (a, b) not in self.down):
                    # In namespaces the kernel cuts links; else the neighbour table does.
                    address = self.net.address(b, a) if self.net else self.addresses[b]
                    peers[b] = Peer(address, loss)
            self._tell(name, ("peers", peers))

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

    def _tell(self, name: int, command: tuple[Any, ...]) -> None:
        try:
            self._controls[name].send(command)
        except (BrokenPipeError, KeyError) as error:
            raise MeshError(f"node {name} is not running") from error

    def subscribe(self, name: int, *channels: int) -> None:
        """Have a node subscribe."""
        self._tell(name, ("subscribe", channels))

    def unsubscribe(self, name: int, *channels: int) -> None:
        """Have a node unsubscribe."""
        self._tell(name, ("unsubscribe", channels))

    def publish(self, name: int, channel: int, data: bytes = b"") -> None:
        """Have a node publish; `published` and `delivered` fill as events come in."""
        self._tell(name, ("publish", (channel,), data))

    def kill(self, name: int) -> None:
        """End a node's process, hard."""
        self._processes[name].kill()
        self._processes[name].join()
        self._controls.pop(name).close()
        self.names.remove(name)

    def ask(self) -> dict[int, dict[str, Any]]:
        """A report from every node."""
        self.reports = {}
        for name in self.names:
            self._tell(name, ("report",))
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
        by_control = {control: name for name, control in self._controls.items()}
        for ready in wait(list(by_control), timeout):
            control = self._controls[by_control[ready]]  # type: ignore[index]
            try:
                while control.poll():
                    self._event(control.recv())
            except (EOFError, ConnectionError) as error:
                raise MeshError(f"node {by_control[control]} ended by itself") from error

    def _event(self, event: tuple[Any, ...]) -> None:
        match event:
            case ("up", name, address):
                self.addresses[name] = address
            case ("published", name, serial, at):
                self.published[name, serial] = at
            case ("delivered", name, origin, serial, at):
                self.delivered.setdefault((origin, serial), {})[name] = at
            case ("report", name, report):
                self.reports[name] = report

    def close(self) -> None:
        """Stop all processes, and take the namespaces away."""
        for control in self._controls.values():
            try:
                control.send(("stop",))
            except (BrokenPipeError, OSError):
                continue
        for process in self._processes.values():
            process.join(2)
            if process.is_alive():
                process.kill()
                process.join()
        for control in self._controls.values():
            control.close()
        self._controls.clear()
        if self.net is not None:
            self.net.remove()

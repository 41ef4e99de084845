"""A mesh node as a process: orders come in on standard input, events go out on standard output.

Both are JSON, one list a line, its first word says what it is. It ends with its input.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from zonal.mesh import LineReader, MeshConfig, MeshNode, UdpDriver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from zonal.mesh import Address, Deliver


class NodeSpec(NamedTuple):
    """What a process needs to know to be a node."""

    node: int
    config: MeshConfig
    seed: int
    address: Address

    def to_json(self) -> str:
        """As an argument of the process."""
        return json.dumps(self._replace(config=asdict(self.config)))  # type: ignore[arg-type]

    @classmethod
    def from_json(cls, text: str) -> NodeSpec:
        """Read what `to_json` wrote."""
        node, config, seed, (host, port) = json.loads(text)
        return cls(node, MeshConfig(**config), seed, (host, port))


class LossyDriver(UdpDriver):
    """Loses a share of the packets to each neighbour by chance, instead of sending them."""

    def __init__(self, spec: NodeSpec, deliver: Callable[[Deliver], None]) -> None:
        node = MeshNode(spec.node, spec.config, seed=spec.seed, now=time.monotonic())
        super().__init__(node, address=spec.address, deliver=deliver)
        self.losses: Mapping[int, float] = {}
        self.rng = random.Random(spec.seed * 7919 + spec.node)

    def transmit(self, node: int, data: bytes) -> None:
        """Send a datagram, or lose it."""
        if self.rng.random() < self.losses.get(node, 0.0):
            self.sent += 1
            self.lost += 1
        else:
            super().transmit(node, data)


def main(spec: NodeSpec) -> None:
    """Be a node until standard input ends."""

    def deliver(effect: Deliver) -> None:
        _tell("delivered", spec.node, effect.origin, effect.serial, time.monotonic())

    driver = LossyDriver(spec, deliver)
    orders = LineReader(sys.stdin.fileno())
    _tell("up", spec.node, driver.address)
    with contextlib.suppress(BrokenPipeError):  # nobody listens any more
        while orders.open:
            if driver.turn([orders]):
                for line in orders.read():
                    _obey(driver, json.loads(line))
    driver.close()


def _tell(*event: Any) -> None:
    print(json.dumps(event), flush=True)


def _obey(driver: LossyDriver, order: list[Any]) -> None:
    node, now = driver.node, time.monotonic()
    match order:
        case ["peers", peers]:
            driver.set_peers({name: (host, port) for name, host, port, _ in peers})
            driver.losses = {name: loss for name, _, _, loss in peers}
        case ["subscribe", *channels]:
            for channel in channels:
                node.subscribe(channel, now)
        case ["unsubscribe", *channels]:
            for channel in channels:
                node.unsubscribe(channel)
        case ["publish", channel, text]:
            driver.publish(channel, text.encode())
            _tell("published", node.id, node.serial, now)
        case ["report"]:
            _tell("report", node.id, _report(driver))


def _report(driver: UdpDriver) -> dict[str, Any]:
    node = driver.node
    return {
        "tree": node.tree,
        "positions": node.place.positions if node.place else (),
        "length": node.place.length if node.place else 0,
        "links": sorted(node.links.used),
        "sent": driver.sent,
        "lost": driver.lost,
        "unknown": driver.unknown,
        **asdict(node.counters),
    }


if __name__ == "__main__":
    main(NodeSpec.from_json(sys.argv[1]))

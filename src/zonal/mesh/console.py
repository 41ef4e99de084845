"""What the `zonal mesh` commands do; the command line itself only parses."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

from rich.console import Console

from zonal.mesh.config import MeshConfig
from zonal.mesh.gateway import Gateway
from zonal.mesh.node import MeshNode
from zonal.mesh.session import open as open_mesh
from zonal.mesh.udp import Address, UdpDriver, parse_peer
from zonal.session import config as zenoh_config
from zonal.session import open as open_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.mesh.packets import Deliver

DEFAULT_PERIOD_S = 1.0


class _Lines:
    """Standard input without buffering ahead, so that `select` and reading agree."""

    def __init__(self) -> None:
        self.rest = b""
        self.open = True

    def fileno(self) -> int:
        """For `select`."""
        return sys.stdin.fileno()

    def read(self) -> list[bytes]:
        """The lines that are there."""
        data = os.read(self.fileno(), 65536)
        self.open = bool(data)
        *lines, self.rest = (self.rest + data).split(b"\n")
        return lines


def paced(period: float, *, acknowledged: bool) -> MeshConfig:
    """The configuration of a mesh whose nodes send beacons this often; leases keep pace with it."""
    lease = MeshConfig().lease_floor * period / DEFAULT_PERIOD_S
    return MeshConfig(period=period, lease_floor=lease, acknowledged=acknowledged)


def run_console(
    node_id: int,
    address: Address,
    peers: Sequence[str],
    *,
    subscribe: Sequence[int],
    publish: int | None,
    seconds: float,
    acknowledged: bool,
    period: float = DEFAULT_PERIOD_S,
) -> None:
    """A node on a terminal: deliveries are printed, lines of standard input are published."""
    config = paced(period, acknowledged=acknowledged)
    node = MeshNode(node_id, config, seed=time.time_ns(), now=time.monotonic())
    driver = UdpDriver(node, address=address, deliver=_print_delivery)
    driver.set_peers(dict(map(parse_peer, peers)))
    for channel in subscribe:
        node.subscribe(channel, time.monotonic())
    print(f"node {node_id} listens on {driver.address[0]}:{driver.address[1]}", flush=True)
    end = time.monotonic() + seconds if seconds else float("inf")
    lines = _Lines()
    try:
        while time.monotonic() < end:
            watched = [lines] if publish is not None and lines.open else []
            if driver.turn(watched):
                for line in lines.read():
                    driver.carry_out(node.publish(publish or 0, line, time.monotonic()))
    except KeyboardInterrupt:
        pass
    finally:
        driver.close()


def _print_delivery(effect: Deliver) -> None:
    text = effect.data.decode("utf-8", "replace")
    print(f"{effect.channels[0]} from {effect.origin}: {text}", flush=True)


def run_gateway(
    node_id: int,
    address: Address,
    peers: Sequence[str],
    topics: Sequence[str],
    routers: Sequence[str],
    *,
    seconds: float,
    acknowledged: bool = False,
    period: float = DEFAULT_PERIOD_S,
) -> None:
    """A node in the mesh and a client of routers in one; says at the end what crossed."""
    out = Console()
    table = dict(map(parse_peer, peers))
    settings = zenoh_config("client", connect=routers)
    mesh_config = paced(period, acknowledged=acknowledged)
    with (
        open_mesh(node_id, listen=address, peers=table, config=mesh_config) as node,
        open_session(settings) as session,
        Gateway(node, session, topics) as gate,
    ):
        print(f"gateway {node_id} listens on {node.address[0]}:{node.address[1]}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait(seconds or None)
        out.print(f"to Zenoh {gate.counters.to_zenoh}, to the mesh {gate.counters.to_mesh}")

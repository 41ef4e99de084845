"""A user-space switch port for nodes whose link the kernel cannot emulate: TAP in, lane, TAP out.

Runs as a process of its own (`python -m zonal_lab.emulation.relay`), one for a whole network, and
takes its orders as JSON lines: first the ports, then `restart` (play the traces from the start)
or `stats`.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import struct
import sys
import time
from typing import TYPE_CHECKING, Any

from zonal_lab.emulation.namespaces import enter
from zonal_lab.emulation.port import port_from_json
from zonal_lab.errors import EmulationError

if TYPE_CHECKING:
    from zonal_lab.emulation.lane import Lane
    from zonal_lab.emulation.port import Port

_TUNSETIFF = 0x400454CA
_IFF_TAP = 0x0002
_IFF_NO_PI = 0x1000
_MAX_FRAME_BYTES = 65_600
# Frames taken from one device before the others get their turn.
_BURST_FRAMES = 32


def open_tap(namespace: str, device: str) -> int:
    """Create a TAP device in a namespace; the device lives as long as the descriptor."""
    descriptor = os.open(namespace, os.O_RDONLY)
    try:
        enter(descriptor)
    finally:
        os.close(descriptor)
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    request = struct.pack("16sH22x", device.encode("ascii"), _IFF_TAP | _IFF_NO_PI)
    try:
        fcntl.ioctl(tap, _TUNSETIFF, request)
    except OSError as error:
        raise EmulationError(f"cannot make TAP device {device}: {error.strerror}") from error
    return tap


class Relay:
    """All ports of a network in one loop."""

    def __init__(self, ports: list[Port]) -> None:
        self._lanes: dict[int, tuple[Lane, int]] = {}
        self._named: dict[str, Lane] = {}
        for port in ports:
            node = open_tap(port.node_namespace, port.node_device)
            switch = open_tap(port.switch_namespace, port.switch_device)
            for name, source, sink, way in (
                (f"{port.node}.out", node, switch, port.outward),
                (f"{port.node}.in", switch, node, port.inward),
            ):
                self._named[name] = way.lane()
                self._lanes[source] = (self._named[name], sink)

    def run(self, orders: int) -> None:
        """Carry frames until the orders end (the lab is gone, or wants no more)."""
        sources = [*self._lanes, orders]
        while True:
            ready, _, _ = select.select(sources, [], [], self._patience_s())
            for source in ready:
                if source == orders:
                    if not self._obey(orders):
                        return
                else:
                    self._take(source)
            self._release()

    def _patience_s(self) -> float | None:
        waiting = [lane.next_ns for lane, _ in self._lanes.values() if lane.next_ns is not None]
        return max(min(waiting) - time.monotonic_ns(), 0) / 1e9 if waiting else None

    def _take(self, source: int) -> None:
        lane, _ = self._lanes[source]
        for _ in range(_BURST_FRAMES):
            try:
                frame = os.read(source, _MAX_FRAME_BYTES)
            except BlockingIOError:
                return
            except OSError:  # the device is down, not yet up or on its way out
                return
            lane.push(frame, time.monotonic_ns())

    def _release(self) -> None:
        for lane, sink in self._lanes.values():
            for frame in lane.due(time.monotonic_ns()):
                try:
                    os.write(sink, frame)
                except OSError:  # the other side is down or full: lost, as on a wire
                    lane.overflowed += 1

    def _obey(self, orders: int) -> bool:
        text = os.read(orders, 65_536)
        for line in text.splitlines():
            order = json.loads(line)
            if order["do"] == "restart":
                now = time.monotonic_ns()
                for lane, _ in self._lanes.values():
                    lane.restart(now, int(order.get("skip_ms", 0)))
                _say({"restarted_ns": now})
            elif order["do"] == "stats":
                _say(
                    {
                        name: {"carried": lane.carried, "lost": lane.lost, "full": lane.overflowed}
                        for name, lane in self._named.items()
                    }
                )
        return bool(text)


def _say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def main() -> None:
    """Read the ports from the first line, then carry frames and obey."""
    first = b""
    while not first.endswith(b"\n"):  # unbuffered: later orders must stay in the pipe for select
        byte = os.read(0, 1)
        if not byte:
            sys.exit("relay: no ports given")
        first += byte
    relay = Relay([port_from_json(entry) for entry in json.loads(first)["ports"]])
    _say({"ready": True})
    relay.run(0)


if __name__ == "__main__":
    main()

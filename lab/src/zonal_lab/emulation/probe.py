"""Sends or receives numbered, stamped UDP packets: `python -m zonal_lab.emulation.probe`.

A process in each of two nodes, which share the machine's clock.
"""

from __future__ import annotations

import json
import socket
import statistics
import struct
import sys
import time
from typing import Any

_SO_TIMESTAMPNS = 35  # Linux; Python has no name for it
_TIMESPEC = struct.Struct("@ll")
_NOTE_BYTES = socket.CMSG_SPACE(_TIMESPEC.size)
_STAMP = struct.Struct("!Qq")
_UDP_IP_ETHERNET_BYTES = 8 + 20 + 14


def _send(order: dict[str, Any]) -> dict[str, int]:
    filler = bytes(order["bytes"] - _STAMP.size)
    gap_ns = round((order["bytes"] + _UDP_IP_ETHERNET_BYTES) * 8000 / order["rate_mbit"])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect((order["to"], order["port"]))
        start = time.monotonic_ns()
        for number in range(order["packets"]):
            wait = start + number * gap_ns - time.monotonic_ns()
            if wait > 0:
                time.sleep(wait / 1e9)
            out.send(_STAMP.pack(number, time.time_ns()) + filler)
    return {"sent": order["packets"]}


def _receive(inbox: socket.socket, packet_bytes: int) -> dict[str, float]:
    """Collect until nothing has come for half a second after the sender stopped."""
    arrivals: list[tuple[int, int]] = []
    inbox.settimeout(0.5)
    stopped = False
    while True:
        try:
            packet, notes, _, _ = inbox.recvmsg(65_536, _NOTE_BYTES)
        except TimeoutError:
            if stopped:
                break
            stopped = json.loads(sys.stdin.readline())["do"] == "stop"
            continue
        arrivals.append((_STAMP.unpack_from(packet)[1], _arrival_ns(notes)))
    return _judge(arrivals, packet_bytes)


def _arrival_ns(notes: list[tuple[int, int, bytes]]) -> int:
    """When the kernel got the packet: a process that had to wait for its turn reads it later."""
    for level, kind, data in notes:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            return int(seconds * 1_000_000_000 + nanoseconds)
    return time.time_ns()


def _judge(arrivals: list[tuple[int, int]], packet_bytes: int) -> dict[str, float]:
    delays = [(received - sent) / 1e6 for sent, received in arrivals]
    span_ns = arrivals[-1][1] - arrivals[0][1] if len(arrivals) > 1 else 0
    bits = max(0, len(arrivals) - 1) * (packet_bytes + _UDP_IP_ETHERNET_BYTES) * 8
    return {
        "received": len(arrivals),
        "bits": bits,
        "began_ns": arrivals[0][1] if arrivals else 0,
        "span_ns": span_ns,
        "delay_median_ms": statistics.median(delays) if delays else 0.0,
        "delay_max_ms": max(delays, default=0.0),
    }


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def main() -> None:
    """Send or receive once, as the first order says; what sends is told when to begin."""
    order = json.loads(sys.stdin.readline())
    if order["do"] == "send":
        _say({"ready": True})
        if json.loads(sys.stdin.readline())["do"] == "begin":
            _say(_send(order))
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as inbox:
        inbox.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
        inbox.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        inbox.bind(("", order["port"]))
        _say({"ready": True})
        _say(_receive(inbox, order["bytes"]))


if __name__ == "__main__":
    main()

"""Many MQTT 3.1.1 connections of one thread: they subscribe to many areas, and count what comes."""

from __future__ import annotations

import selectors
import socket
import struct
import time
from typing import TYPE_CHECKING, NamedTuple

from zonal_lab.errors import EmulationError

if TYPE_CHECKING:
    from collections.abc import Sequence

_CONNACK, _PUBLISH, _SUBACK = 2, 3, 9
_REFUSED = 0x80
_PATIENCE_S = 600.0
_READ = 1 << 16


class Packet(NamedTuple):
    """What came: its kind, and all behind the fixed header."""

    kind: int
    body: bytes


class Connection:
    """A connection to a broker, established and acknowledged."""

    def __init__(self, port: int, name: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._has = b""
        # Level 4 of the protocol, a clean session, no keep-alive.
        self.send(0x10, b"\x00\x04MQTT\x04\x02\x00\x00" + _text(name))
        (answer,) = self._until(_CONNACK)
        if answer.body[1]:
            raise EmulationError(f"the broker refused {name}: {answer.body[1]}")

    def send(self, first: int, body: bytes) -> None:
        """One packet, by its first byte."""
        self.socket.sendall(bytes([first]) + _length(len(body)) + body)

    def subscribe(self, filters: Sequence[str]) -> None:
        """One packet with all of them, at QoS 0; an `EmulationError` when one is refused."""
        self.send(0x82, b"\x00\x01" + b"".join(_text(each) + b"\x00" for each in filters))
        (answer,) = self._until(_SUBACK)
        if any(code >= _REFUSED for code in answer.body[2:]):
            raise EmulationError("the broker refused a subscription")

    def publish(self, topic: str, payload: bytes) -> None:
        """At QoS 0."""
        self.send(0x30, _text(topic) + payload)

    def arrived(self) -> list[Packet]:
        """What can be read at once; waits where nothing can."""
        heard = self.socket.recv(_READ)
        if not heard:
            raise EmulationError("the broker closed a connection")
        self._has += heard
        packets = []
        while (packet := self._taken()) is not None:
            packets.append(packet)
        return packets

    def _until(self, kind: int) -> list[Packet]:
        self.socket.settimeout(_PATIENCE_S)
        while not (found := [each for each in self.arrived() if each.kind == kind]):
            pass
        return found

    def _taken(self) -> Packet | None:
        """The first whole packet that is there."""
        length, at = 0, 1
        while at < len(self._has):
            length |= (self._has[at] & 0x7F) << 7 * (at - 1)
            at += 1
            if not self._has[at - 1] & 0x80:
                break
        else:
            return None
        if len(self._has) < at + length:
            return None
        packet = Packet(self._has[0] >> 4, self._has[at : at + length])
        self._has = self._has[at + length :]
        return packet


class Crowd:
    """Connections that subscribe, each to areas of its own.

    Args:
        port: the broker's, on loopback.
        filters: of each connection.
    """

    def __init__(self, port: int, filters: Sequence[Sequence[str]]) -> None:
        self._ready = selectors.DefaultSelector()
        self._connections = []
        for number, mine in enumerate(filters):
            connection = Connection(port, f"crowd-{number}")
            self._connections.append(connection)
            connection.subscribe(mine)
            self._ready.register(connection.socket, selectors.EVENT_READ, connection)

    def take(self, copies: int, patience_s: float) -> int:
        """Read until so many deliveries have come, or too much time has passed; how many came."""
        found, deadline = 0, time.monotonic() + patience_s
        while found < copies and (left := deadline - time.monotonic()) > 0:
            for key, _ in self._ready.select(left):
                found += sum(each.kind == _PUBLISH for each in key.data.arrived())
        return found

    def close(self) -> None:
        """Close all connections."""
        self._ready.close()
        for each in self._connections:
            each.socket.close()


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">H", len(encoded)) + encoded


def _length(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])

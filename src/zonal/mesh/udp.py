"""A mesh node over UDP: the one place where node code meets a socket and a clock."""

from __future__ import annotations

import logging
import os
import select
import socket
import time
from typing import TYPE_CHECKING, Protocol

from zonal.errors import MeshError, PacketError
from zonal.mesh.lock import Unlocked
from zonal.mesh.packets import ON_AIR_LEVELS, Beacon, Deliver, Effect, LinkReport, Send, View
from zonal.mesh.wire import MAX_NUMBER, WIRE
from zonal.runtime import check_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from zonal.mesh.config import MeshConfig
    from zonal.mesh.discovery import Discovery, Source
    from zonal.mesh.lock import PacketLock
    from zonal.mesh.node import MeshNode
    from zonal.mesh.packets import Packet

Address = tuple[str, int]

logger = logging.getLogger(__name__)


class Readable(Protocol):
    """Whatever `select` can wait for."""

    def fileno(self) -> int:
        """Its file descriptor."""
        ...


_BURST = 64  # packets read before timers get their turn
_OCTETS = 2048


class LineReader:
    """Lines from a file descriptor; it reads none ahead, so that `UdpDriver.turn` can wait for it.

    `open` says whether more can come.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""
        self.open = True

    def fileno(self) -> int:
        """For `select`."""
        return self._descriptor

    def read(self) -> list[bytes]:
        """The whole lines that are there; waits only where there is nothing at all."""
        data = os.read(self._descriptor, 65536)
        self.open = bool(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines


def parse_peer(text: str) -> tuple[int, Address]:
    """A neighbour and where it listens: `7=127.0.0.1:4007`; without a host it is on loopback."""
    name, _, place = text.partition("=")
    host, _, port = place.rpartition(":")
    try:
        return int(name), (host or "127.0.0.1", check_port(port))
    except ValueError as error:
        raise MeshError(f"{text!r} is no peer; right would be 7=127.0.0.1:4007") from error


def _check_beacon(config: MeshConfig) -> None:
    """`PacketError` where the fullest beacon of a node so configured fits no packet."""
    most = MAX_NUMBER
    links = (LinkReport(most, ON_AIR_LEVELS, kept=True),) * config.max_candidates
    places, children = (most,) * (config.max_links + 1), (most,) * config.max_links
    WIRE.encode(
        Beacon(most, most, View(most, most, most, most, most, most, places, children, links))
    )


class UdpDriver:
    """Runs one node on one socket; a neighbour table says who is in reach, and where.

    With `discovery` those whose beacons are heard on a link are in reach as well; the driver closes
    it with itself.
    It drops and counts what comes from nowhere in that table (`unknown`) and what names another
    sender than the one who listens there (`impostors`). With a `lock` it also drops what was not
    sent with the mesh's key (`forged`) and what came before (`replayed`).
    """

    def __init__(
        self,
        node: MeshNode,
        *,
        address: Address = ("127.0.0.1", 0),
        deliver: Callable[[Deliver], None] | None = None,
        discovery: Discovery | None = None,
        lock: PacketLock | None = None,
    ) -> None:
        _check_beacon(node.config)
        self.node = node
        self.deliver = deliver
        self.discovery = discovery
        self._lock = lock
        self.peers: dict[int, Address] = {}
        self._owners: dict[Address, int] = {}
        self.sent = 0
        self.lost = 0
        self.unknown = 0
        self.impostors = 0
        self.forged = 0
        self.replayed = 0
        self.unsendable = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        try:
            self.socket.bind(address)
        except OSError as error:
            self.socket.close()
            raise MeshError(f"cannot listen on {address[0]}:{address[1]}: {error}") from error
        self.socket.setblocking(False)

    @property
    def address(self) -> Address:
        """Where this node listens."""
        host, port = self.socket.getsockname()
        return host, port

    def set_peers(self, peers: Mapping[int, Address]) -> None:
        """Replace the neighbour table; whoever is not in it is out of reach, both ways."""
        self.peers = dict(peers)
        self._owners = {address: node for node, address in peers.items()}

    def publish(self, channels: int | Sequence[int], data: bytes) -> None:
        """Have the node publish, now."""
        self.carry_out(self.node.publish(channels, data, time.monotonic()))

    def turn(self, also: Iterable[Readable] = (), longest: float = 0.5) -> list[Readable]:
        """Wait for packets, a timer, or one of the other readable things, and see to the node.

        Returns which of the other things became readable.
        """
        now = time.monotonic()
        period = self.node.config.period
        wait = min(max(self.node.wake_at - now, 0.0), period, longest)
        others: list[Readable] = list(also)
        sockets = [self.socket, *(self.discovery.sockets if self.discovery else ())]
        ready, _, _ = select.select([*sockets, *others], [], [], wait)
        for sock in sockets:
            if sock in ready:
                self._read(sock)
        now = time.monotonic()
        if now >= self.node.wake_at or wait == period:
            self.carry_out(self.node.tick(now))
        return [thing for thing in others if thing in ready]

    def _read(self, sock: socket.socket) -> None:
        for _ in range(_BURST):
            try:
                data, source = sock.recvfrom(_OCTETS)
            except (BlockingIOError, ConnectionError):
                return
            if sock is self.socket:
                self._take(data, source)
            else:
                self._take_found(data, source, sock)

    def _take_found(self, data: bytes, source: Source, sock: socket.socket) -> None:
        """Hand a packet to the node that came over a link where neighbours find each other."""
        discovery, now = self.discovery, time.monotonic()
        unlocked = self._unlocked(data)
        packet = unlocked and self.node.decode(unlocked.data)
        if not unlocked or not packet or discovery is None or packet.sender == self.node.id:
            return
        # What came before teaches nothing; what is not admitted may come again by another way.
        if not self._is_fresh(packet.sender, unlocked):
            return
        if discovery.admits(packet, source, now, to_group=discovery.is_group(sock)):
            self._hand_over(packet, unlocked)
        else:
            self.impostors += 1

    def _take(self, data: bytes, source: Address) -> None:
        """Hand a packet to the node, if it comes from where its sender listens."""
        owner = self._owners.get(source)
        if owner is None:
            self.unknown += 1
            return
        unlocked = self._unlocked(data)
        packet = unlocked and self.node.decode(unlocked.data)
        if not unlocked or not packet:
            return
        if packet.sender != owner:
            self.impostors += 1
        elif self._is_fresh(owner, unlocked):
            self._hand_over(packet, unlocked)

    def _unlocked(self, data: bytes) -> Unlocked | None:
        """A packet of somebody who has the mesh's key; without a lock any packet."""
        if self._lock is None:
            return Unlocked(data, 0)
        unlocked = self._lock.unlock(data)
        self.forged += unlocked is None
        return unlocked

    def _is_fresh(self, sender: int, packet: Unlocked) -> bool:
        fresh = self._lock is None or self._lock.is_fresh(sender, packet)
        self.replayed += not fresh
        return fresh

    def _hand_over(self, packet: Packet, unlocked: Unlocked) -> None:
        if self._lock is not None:
            self._lock.take(packet.sender, unlocked)
        self.carry_out(self.node.receive(packet, time.monotonic()))

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """Send what the node sends, deliver what it delivers.

        A packet that fits no bytes is counted and logged; the others go out.
        """
        for effect in effects:
            if isinstance(effect, Send):
                self._send(effect)
            elif self.deliver is not None:
                self.deliver(effect)

    def _send(self, effect: Send) -> None:
        try:
            data = self.node.routing.codec.encode(effect.packet)
        except PacketError:
            self.unsendable += 1
            logger.exception("mesh node %d cannot send a packet", self.node.id)
            return
        if self._lock is not None:
            data = self._lock.lock(data)
        for node in self.peers if effect.to is None else (effect.to,):
            if node in self.peers:
                self.transmit(node, data)
        found = self.discovery
        if found is None:
            return
        if effect.to is None:
            self.sent += found.broadcast(data, time.monotonic())
        elif effect.to not in self.peers and effect.to in found.neighbours:
            self.sent += 1
            found.send(effect.to, data)

    def where(self, node: int) -> str:
        """Where a neighbour listens, for people to read; empty where that is not known."""
        found = self.discovery.neighbours.get(node) if self.discovery else None
        source = self.peers.get(node) or (found.source if found else None)
        return "" if source is None else f"{source[0]} port {source[1]}"

    def transmit(self, node: int, data: bytes) -> None:
        """Send a datagram to a neighbour; what cannot be sent is lost, as on radio."""
        self.sent += 1
        try:
            self.socket.sendto(data, self.peers[node])
        except OSError:  # a full buffer, or a link that is down
            self.lost += 1

    def close(self) -> None:
        """Close the sockets; neighbours notice that the node is silent."""
        self.socket.close()
        if self.discovery is not None:
            self.discovery.close()

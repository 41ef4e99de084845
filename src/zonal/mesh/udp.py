"""A mesh node over UDP: the one place where node code meets a socket and a clock."""

from __future__ import annotations

import random
import select
import socket
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from zonal.errors import MeshError
from zonal.mesh import wire
from zonal.mesh.packets import Deliver, Effect, Send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from zonal.mesh.node import MeshNode

Address = tuple[str, int]


class Readable(Protocol):
    """Whatever `select` can wait for."""

    def fileno(self) -> int:
        """Its file descriptor."""
        ...


_BURST = 64  # packets read before timers get their turn
_OCTETS = 2048


class Peer(NamedTuple):
    """A neighbour in reach: where it listens, and which share of packets to it gets lost."""

    address: Address
    loss: float = 0.0


def parse_peer(text: str) -> tuple[int, Peer]:
    """``7=127.0.0.1:4007`` or ``7=127.0.0.1:4007,0.1`` (a tenth of the packets gets lost)."""
    try:
        name, _, rest = text.partition("=")
        place, _, loss = rest.partition(",")
        host, _, port = place.rpartition(":")
        peer = Peer((host or "127.0.0.1", int(port)), float(loss or 0))
        number = int(name)
    except ValueError as error:
        raise MeshError(f"{text!r} is no peer; right would be 7=127.0.0.1:4007,0.1") from error
    if not 0 <= peer.loss <= 1:
        raise MeshError(f"{text!r} has a loss of {peer.loss}; right is a share from 0 to 1")
    return number, peer


class UdpDriver:
    """Runs one node on one socket; a neighbour table says who is in reach."""

    def __init__(
        self,
        node: MeshNode,
        *,
        address: Address = ("127.0.0.1", 0),
        deliver: Callable[[Deliver], None] | None = None,
        seed: int = 0,
    ) -> None:
        self.node = node
        self.deliver = deliver
        self.peers: dict[int, Peer] = {}
        self._known: dict[Address, int] = {}
        self.rng = random.Random(seed * 7919 + node.id)
        self.sent = 0
        self.lost = 0
        self.unknown = 0
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

    def set_peers(self, peers: Mapping[int, Peer]) -> None:
        """Replace the neighbour table; whoever is not in it is out of reach, both ways."""
        self.peers = dict(peers)
        self._known = {peer.address: node for node, peer in peers.items()}

    def turn(self, also: Iterable[Readable] = (), longest: float = 0.5) -> list[Readable]:
        """Wait for packets, a timer, or one of the other readable things, and see to the node.

        Returns which of the other things became readable.
        """
        now = time.monotonic()
        period = self.node.config.period
        wait = min(max(self.node.wake_at - now, 0.0), period, longest)
        others: list[Readable] = list(also)
        ready, _, _ = select.select([self.socket, *others], [], [], wait)
        if self.socket in ready:
            self._read()
        now = time.monotonic()
        if now >= self.node.wake_at or wait == period:
            self.carry_out(self.node.tick(now))
        return [thing for thing in others if thing in ready]

    def _read(self) -> None:
        for _ in range(_BURST):
            try:
                data, source = self.socket.recvfrom(_OCTETS)
            except (BlockingIOError, ConnectionError):
                return
            if source not in self._known:
                self.unknown += 1
                continue
            self.carry_out(self.node.receive_bytes(data, time.monotonic()))

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """Send what the node sends, deliver what it delivers."""
        for effect in effects:
            if isinstance(effect, Send):
                self._send(effect)
            elif self.deliver is not None:
                self.deliver(effect)

    def _send(self, effect: Send) -> None:
        data = wire.encode(effect.packet)
        if effect.to is None:
            targets = list(self.peers.values())
        else:
            peer = self.peers.get(effect.to)
            targets = [peer] if peer is not None else []
        for peer in targets:
            self.sent += 1
            if peer.loss and self.rng.random() < peer.loss:
                self.lost += 1
                continue
            try:
                self.socket.sendto(data, peer.address)
            except OSError:
                self.lost += 1  # a full buffer or a link that is down loses packets, as radio does

    def close(self) -> None:
        """Leave without a word, as nodes do."""
        self.socket.close()

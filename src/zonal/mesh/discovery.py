"""Neighbours on a link find each other: beacons to a multicast group that no router passes on.

A node speaks IPv6 (`ff02::5a6f:6e61`) on every network card that has a link-local address, and IPv4
(`224.0.0.174`) on the others, or on all while it hears a neighbour by IPv4; it listens to both.
Whoever is heard is in reach, and is answered where it spoke from.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import socket
import struct
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from zonal.errors import MeshError
from zonal.mesh.config import MOST_REST
from zonal.mesh.packets import Beacon

if TYPE_CHECKING:
    from collections.abc import Collection

    from zonal.mesh.packets import Packet

logger = logging.getLogger(__name__)

GROUP_4 = "224.0.0.174"
GROUP_6 = "ff02::5a6f:6e61"
PORT = 7846
"""UDP port of the group; nodes of other ports are other meshes."""

Source = tuple[str, int] | tuple[str, int, int, int]
"""Where a datagram came from, by IPv4 or by IPv6."""

_LOOK_S = 5.0  # between looks at which cards there are
_GRACE_S = 3.0  # that a card gets for its IPv6 address before it is spoken to by IPv4
_MULTICAST_ALL_4, _MULTICAST_ALL_6 = 49, 29  # of Linux: only what this socket has joined


@dataclass(slots=True)
class Card:
    """A network card that the group was joined on."""

    name: str
    index: int
    since: float
    by_4: bool
    by_6: bool


@dataclass(slots=True)
class Heard:
    """Where a neighbour speaks from, when it last did, and the periods between its beacons."""

    source: Source
    at: float
    pace: int = 1


_LOOPBACK_CARD = "lo"


class Discovery:
    """The sockets of a node that finds its neighbours, and the neighbours that it found.

    An identifier belongs to the address it was first heard from, until that has been silent for
    `patience_s`; whoever else claims it is not heard.

    Args:
        cards: names of network cards; None: all but loopback, also those that come later.
        port: of the group.
        patience_s: silence after which an address loses its identifier; longer for one whose
            beacons have slowed down.
        most: neighbours that are remembered.
    """

    def __init__(
        self,
        cards: Collection[str] | None = None,
        *,
        port: int = PORT,
        patience_s: float = 6.0,
        most: int = 256,
    ) -> None:
        self.port = port
        self.patience_s = patience_s
        self.most = most
        self.neighbours: dict[int, Heard] = {}
        self.cards: dict[str, Card] = {}
        self.lost = 0
        self._wanted = None if cards is None else frozenset(cards)
        self._owners: dict[Source, int] = {}
        self._looked_at = -inf
        self._speak_4 = _speaker(socket.AF_INET)
        self._speak_6 = _speaker(socket.AF_INET6)
        try:
            self._group_4 = _listener(socket.AF_INET, GROUP_4, port)
            self._group_6 = _listener(socket.AF_INET6, "::", port)
        except OSError as error:
            self.close()
            raise MeshError(f"cannot listen to the mesh's group on port {port}: {error}") from error

    @property
    def is_local(self) -> bool:
        """Whether it looks on this machine alone."""
        return self._wanted is not None and self._wanted <= {_LOOPBACK_CARD}

    @property
    def sockets(self) -> list[socket.socket]:
        """All that there is to read from."""
        every = (self._speak_4, self._speak_6, self._group_4, self._group_6)
        return [each for each in every if each is not None]

    def is_group(self, sock: socket.socket) -> bool:
        """Whether a socket hears what is said to all."""
        return sock in (self._group_4, self._group_6)

    def admits(self, packet: Packet, source: Source, now: float, *, to_group: bool) -> bool:
        """Whether this sender is heard from there; its first beacon to all makes it known."""
        known = self.neighbours.get(packet.sender)
        if known is not None and known.source == source:
            known.at = now
            if isinstance(packet, Beacon):
                known.pace = packet.pace
            return True
        if not to_group or not isinstance(packet, Beacon):
            return False
        if known is not None and self._speaks(known, now):
            return False
        owner = self._owners.get(source)
        if owner is not None and self._speaks(self.neighbours[owner], now):
            return False
        return self._learn(packet, source, now)

    def _speaks(self, heard: Heard, now: float) -> bool:
        """Whether a neighbour is not silent for longer than its beacons' pace explains."""
        return now - heard.at < self.patience_s * min(max(heard.pace, 1), MOST_REST)

    def _learn(self, beacon: Beacon, source: Source, now: float) -> bool:
        node = beacon.sender
        for old in (self._owners.get(source), node):
            if old is not None and old in self.neighbours:
                self._forget(old)
        if len(self.neighbours) >= self.most:
            oldest = min(self.neighbours, key=lambda name: self.neighbours[name].at)
            if self._speaks(self.neighbours[oldest], now):
                return False
            self._forget(oldest)
        self.neighbours[node] = Heard(source, now, beacon.pace)
        self._owners[source] = node
        return True

    def _forget(self, node: int) -> None:
        del self._owners[self.neighbours.pop(node).source]

    def broadcast(self, data: bytes, now: float) -> int:
        """Say this to the group on every card; how many datagrams that took."""
        self._look(now)
        both = any(len(heard.source) == 2 for heard in self.neighbours.values())
        sent = 0
        for card in self.cards.values():
            heard = card.by_6 and self._say_6(card, data)
            sent += heard
            waits = card.by_6 and now - card.since < _GRACE_S
            if card.by_4 and (both or not (heard or waits)):
                sent += self._say_4(card, data)
        return sent

    def _say_6(self, card: Card, data: bytes) -> bool:
        assert self._speak_6 is not None
        try:
            self._speak_6.sendto(data, (GROUP_6, self.port, 0, card.index))
        except OSError:  # no address yet, or the card is down
            return False
        return True

    def _say_4(self, card: Card, data: bytes) -> bool:
        assert self._speak_4 is not None
        try:
            self._speak_4.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, _request_4(card))
            self._speak_4.sendto(data, (GROUP_4, self.port))
        except OSError:
            self.lost += 1
            return False
        return True

    def send(self, node: int, data: bytes) -> None:
        """Send a datagram to a neighbour that was heard; what cannot be sent is lost."""
        source = self.neighbours[node].source
        speaker = self._speak_4 if len(source) == 2 else self._speak_6
        assert speaker is not None
        try:
            speaker.sendto(data, source)
        except OSError:
            self.lost += 1

    def _look(self, now: float) -> None:
        """Join the group on cards that are new, and forget those that are gone."""
        if 0 <= now - self._looked_at < _LOOK_S:
            return
        self._looked_at = now
        there = {name: index for index, name in socket.if_nameindex() if self._wants(name)}
        for name, card in list(self.cards.items()):
            if there.get(name) != card.index:
                del self.cards[name]
        for name in there.keys() - self.cards.keys():
            card = Card(name, there[name], now, by_4=True, by_6=True)
            card.by_4, card.by_6 = self._join_4(card), self._join_6(card)
            if card.by_4 or card.by_6:
                self.cards[name] = card
                logger.info("listening for mesh nodes on %s", name)

    def _wants(self, name: str) -> bool:
        return not name.startswith("lo") if self._wanted is None else name in self._wanted

    def _join_4(self, card: Card) -> bool:
        return _join(self._group_4, socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, _request_4(card))

    def _join_6(self, card: Card) -> bool:
        request = socket.inet_pton(socket.AF_INET6, GROUP_6) + struct.pack("@I", card.index)
        return _join(self._group_6, socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, request)

    def close(self) -> None:
        """Close all sockets; neighbours notice the silence."""
        for name in ("_speak_4", "_speak_6", "_group_4", "_group_6"):
            sock = getattr(self, name, None)
            if sock is not None:
                sock.close()


def _request_4(card: Card) -> bytes:
    """`struct ip_mreqn`: the group, no address, the card."""
    return struct.pack("@4s4si", socket.inet_aton(GROUP_4), bytes(4), card.index)


def _join(group: socket.socket | None, level: int, option: int, request: bytes) -> bool:
    if group is None:
        return False
    try:
        group.setsockopt(level, option, request)
    except OSError as error:
        return error.errno == errno.EADDRINUSE  # it has been joined already
    return True


def _speaker(family: socket.AddressFamily) -> socket.socket | None:
    """A socket on a free port, whose multicasts stay on the link; None: no such family here."""
    try:
        sock = _socket(family)
        sock.bind(("", 0))
    except OSError:
        return None
    if family == socket.AF_INET:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
    else:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 1)
    return sock


def _listener(family: socket.AddressFamily, host: str, port: int) -> socket.socket | None:
    """A socket on the group's port, which several nodes of a machine can share."""
    try:
        sock = _socket(family)
    except OSError:
        return None
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    level, option = (
        (socket.IPPROTO_IP, _MULTICAST_ALL_4)
        if family == socket.AF_INET
        else (socket.IPPROTO_IPV6, _MULTICAST_ALL_6)
    )
    with contextlib.suppress(OSError):
        sock.setsockopt(level, option, 0)
    sock.bind((host, port))
    return sock


def _socket(family: socket.AddressFamily) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    sock.setblocking(False)
    return sock

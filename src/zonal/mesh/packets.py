"""What mesh nodes say to one another, as plain values; `zonal.mesh.wire` puts them into bytes."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeAlias

ON_AIR_LEVELS = 127
"""Link quality travels in seven bits: 0 is dead, 127 is perfect. A chain of ten links at 98 %
delivers 82 %, at 93 % only 48 %: four bits could not tell the two apart."""


class Packet(Protocol):
    """Whatever a node says to its neighbours; a routing layer may have kinds of its own."""

    @property
    def sender(self) -> int:
        """The node that says it."""


class LinkReport(NamedTuple):
    """One line of a node's neighbour table, as its beacon tells it."""

    node: int
    quality: int
    kept: bool


class View(NamedTuple):
    """The part of a node's state that its neighbours read.

    `root`, `depth`, `parent` and `cost` (of the way to the root) are the spanning tree;
    `size` (of the subtree) is the ring's UP part; `length`, `positions` and `children` are
    its DOWN part: the i-th child starts one after the i-th position. A root is its own parent. No
    positions: not placed yet.
    """

    root: int
    depth: int
    parent: int
    cost: int
    size: int
    length: int
    positions: tuple[int, ...]
    children: tuple[int, ...]
    links: tuple[LinkReport, ...]


class Beacon(NamedTuple):
    """Sent by every node once a period, or less often at rest, and soon after a change."""

    sender: int
    seq: int
    view: View
    pace: int = 1
    """Periods until the next one, if nothing changes."""


class Sub(NamedTuple):
    """SUB⟨r, C, P⟩ of algorithm 1, sent to tree neighbours; `previous` is r, None for ⊥."""

    sender: int
    previous: int | None
    channels: tuple[int, ...]
    positions: tuple[int, ...]


class Pub(NamedTuple):
    """PUB⟨goal, ep, c, data⟩ of algorithm 2, sent to the one neighbour that owns `goal`.

    `channels` is one channel in the paper; several mean: whoever subscribes to any of them.
    `origin` and `serial` name the publication, `hop` names this transmission, `ttl` bounds
    how often corrupt state can make it be forwarded.
    """

    sender: int
    hop: int
    goal: int
    end: int
    ttl: int
    channels: tuple[int, ...]
    origin: int
    serial: int
    data: bytes


class Ack(NamedTuple):
    """Confirms one hop of a publication, where hop-by-hop acknowledgement is switched on."""

    sender: int
    hop: int


class Send(NamedTuple):
    """An effect: put this packet on the air, to one neighbour or (None) to whoever hears it."""

    to: int | None
    packet: Packet


class Deliver(NamedTuple):
    """An effect: hand this publication to the application."""

    channels: tuple[int, ...]
    origin: int
    serial: int
    data: bytes
    hops: int


Effect: TypeAlias = Send | Deliver

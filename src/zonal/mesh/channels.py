"""Channels of the simulator: what one has to offer, and links of a graph with independent loss."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.mesh.graphs import Graph

HOP_DELAY = 0.004
"""Seconds from sending to receiving where the model has no air time of its own."""


@dataclass(slots=True, eq=False)
class Transmission:
    """A packet on the air, from start to end, to one node or (None) to whoever hears it."""

    sender: int
    to: int | None
    packet: object
    start: float
    end: float


class Channel(Protocol):
    """Who receives what."""

    measures: bool
    """Whether the model needs the packets' size in octets (they are encoded for it then)."""

    def nodes(self) -> Sequence[int]:
        """All nodes there are."""

    def defer(self, sender: int, now: float, attempt: int) -> float:
        """How long the sender must wait before it may speak; 0: not at all."""

    def begin(
        self, sender: int, to: int | None, packet: object, now: float, octets: int
    ) -> Transmission:
        """A packet goes on the air."""

    def receivers(self, sent: Transmission) -> Sequence[int]:
        """Who received it, asked when it ends."""


class GraphChannel:
    """Links of a graph, each with the same independent loss; links can be cut and mended."""

    measures = False

    def __init__(self, graph: Graph, loss: float = 0.0, seed: int = 0) -> None:
        self.neighbours: dict[int, tuple[int, ...]] = dict(graph)
        self.loss = loss
        self.rng = random.Random(seed)

    def nodes(self) -> Sequence[int]:
        """All nodes of the graph."""
        return sorted(self.neighbours)

    def cut(self, a: int, b: int) -> None:
        """Take a link away."""
        self.neighbours[a] = tuple(n for n in self.neighbours[a] if n != b)
        self.neighbours[b] = tuple(n for n in self.neighbours[b] if n != a)

    def mend(self, a: int, b: int) -> None:
        """Put a link there."""
        self.neighbours[a] = tuple(sorted({*self.neighbours[a], b}))
        self.neighbours[b] = tuple(sorted({*self.neighbours[b], a}))

    def defer(self, sender: int, now: float, attempt: int) -> float:  # noqa: ARG002 - never busy
        """This medium is always free."""
        return 0.0

    def begin(
        self,
        sender: int,
        to: int | None,
        packet: object,
        now: float,
        octets: int,  # noqa: ARG002 - every packet takes the same time here
    ) -> Transmission:
        """Every hop takes the same time."""
        return Transmission(sender, to, packet, now, now + HOP_DELAY)

    def receivers(self, sent: Transmission) -> Sequence[int]:
        """The neighbours, each with the same chance, independent of the others."""
        heard: Sequence[int] = self.neighbours[sent.sender]
        if sent.to is not None:
            heard = (sent.to,) if sent.to in heard else ()
        if self.loss:
            chance, loss = self.rng.random, self.loss
            heard = [node for node in heard if chance() >= loss]
        return heard

"""Topology control: which neighbours count, by beacons, two-way quality and hysteresis.

A link is *used* when both ends keep it. A node keeps at most C_N links: those the spanning tree
stands on, then those that lead to another root (so that parts find together), then the best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal.mesh.packets import ON_AIR_LEVELS, Beacon, Link, View

if TYPE_CHECKING:
    from collections.abc import Collection

    from zonal.mesh.config import MeshConfig

_SEQ = 0xFFFF
_LOST_TRACK = 64  # a jump of the sequence number beyond this is a restart, not loss
_ONE_IN_A_THOUSAND = math.log(1e-3)
_MATURE = 4  # beacons after which a neighbour's quality is known well enough to drop it
_PATIENCE = 4  # periods a link is kept without being kept by the other end, and then refused


def link_cost(quality: float) -> int:
    """What the spanning tree pays for a link: 10 for a perfect one, rising with its loss squared.

    The square makes a detour over good links cheaper than one that loses every other packet,
    because publications are not repeated unless acknowledgement is on.
    """
    return min(int(10 / max(quality, 0.05) ** 2 + 0.5), 4000)


@dataclass(slots=True)
class Neighbour:
    """What is known of one neighbour."""

    node: int
    view: View
    seq: int
    heard_at: float
    inbound: float = 0.5
    samples: int = 0
    quality: float = 0.0
    cost: int = 0
    keeps_me: bool = False
    kept: bool = False
    kept_at: float = 0.0
    refused_until: float = 0.0


class LinkTable:
    """The neighbour table of one node."""

    def __init__(self, me: int, config: MeshConfig) -> None:
        self.me = me
        self.config = config
        self.entries: dict[int, Neighbour] = {}
        self.used: dict[int, Neighbour] = {}

    def heard(self, beacon: Beacon, now: float) -> bool:
        """Take a beacon in; whether it tells the layers above anything new."""
        entry = self.entries.get(beacon.sender)
        if entry is None:
            return self._admit(beacon, now)
        gap = (beacon.seq - entry.seq) & _SEQ
        entry.seq = beacon.seq
        entry.heard_at = now
        if gap != 1 or entry.inbound < 0.999:
            self._estimate(entry, gap)
        view = beacon.view
        if view is entry.view or view == entry.view:
            return False
        entry.view = view
        return entry.kept and self._read(entry, now)

    def _admit(self, beacon: Beacon, now: float) -> bool:
        if beacon.sender == self.me:
            return False
        if len(self.entries) >= self.config.max_candidates and not self._make_room(beacon):
            return False
        entry = Neighbour(beacon.sender, beacon.view, beacon.seq, now)
        self.entries[beacon.sender] = entry
        self._estimate(entry, 1)
        return False

    def _make_room(self, beacon: Beacon) -> bool:
        """Forget a neighbour that was watched for long enough to know that it is of no use.

        That is one with poor quality; or, where the new one watches this node already, one that
        does not: in a crowd only nodes that watch each other can ever have a link. Now and then
        (by the beacon's number, as good as by chance) a stranger gets a try as well.
        """
        mutual = any(link.node == self.me for link in beacon.view.links) or beacon.seq % 4 == 0
        useless = [
            (n.inbound if n.quality else 0.0, -name)
            for name, n in self.entries.items()
            if not n.kept
            and n.samples >= _MATURE
            and (n.inbound < self.config.enter_quality or (mutual and n.quality == 0))
        ]
        if not useless:
            return False
        del self.entries[-min(useless)[1]]
        return True

    def _estimate(self, entry: Neighbour, gap: int) -> None:
        """Exponentially weighted delivery ratio; nearer to a plain mean while there is little."""
        quality = min(max(entry.inbound, 0.0), 1.0)
        if gap == 0 or gap > _LOST_TRACK:
            gap, quality, entry.samples = 1, 0.5, 0
        entry.samples = max(entry.samples, 0)
        for missed in range(gap - 1, -1, -1):
            weight = max(1 - self.config.memory, 1 / (entry.samples + 2))
            quality += ((0 if missed else 1) - quality) * weight
            entry.samples += 1
        entry.inbound = quality

    def _read(self, entry: Neighbour, now: float) -> bool:
        """What the neighbour says of this node; true if its view matters to the upper layers."""
        me, config = self.me, self.config
        outbound, entry.keeps_me = 0, False
        for link in entry.view.links:
            if link.node == me:
                outbound, entry.keeps_me = link.quality, link.kept
                break
        missed = max(int((now - entry.heard_at) / config.period - 0.5), 0)
        inbound = min(max(entry.inbound, 0.0), 1.0) * config.memory**missed
        entry.quality = inbound * outbound / ON_AIR_LEVELS
        cost = link_cost(entry.quality)
        if not 0.7 * cost <= entry.cost <= 1.4 * cost:  # small changes do not move the tree
            entry.cost = cost
        used = entry.kept and entry.keeps_me
        was_used = entry.node in self.used
        if used and not was_used:
            self.used[entry.node] = entry
        elif was_used and not used:
            del self.used[entry.node]
        return used or was_used

    def review(self, now: float, root: int, tree: Collection[int]) -> None:
        """Once a period: recompute everything derived, let bad links go, take better ones in."""
        config = self.config
        rich = sum(n.kept for n in self.entries.values()) > config.min_links
        for node, entry in list(self.entries.items()):
            entry.heard_at = min(entry.heard_at, now)  # a time stamp from the future is corrupt
            silent = (now - entry.heard_at) / config.period
            if node != entry.node or (silent > config.silence and silent > self._patience(entry)):
                del self.entries[node]
                continue
            self._read(entry, now)
            if entry.kept and self._should_leave(entry, now, tree, rich=rich):
                entry.kept = False
        self._enter(now, root, tree)
        entries = self.entries.values()
        self.used = {n.node: n for n in entries if n.kept and n.keeps_me}

    def _patience(self, entry: Neighbour) -> float:
        """Periods of silence after which a neighbour is gone, but for one case in a thousand."""
        usual = self.config.silence
        loss = 1 - min(max(entry.inbound, 0.0), 0.999)
        return (
            min(max(usual, _ONE_IN_A_THOUSAND / math.log(loss)), 4 * usual) if loss < 1 else usual
        )

    def _should_leave(
        self, entry: Neighbour, now: float, tree: Collection[int], *, rich: bool
    ) -> bool:
        """Gone bad, or kept by one end only for too long."""
        config = self.config
        if entry.quality >= config.leave_quality and entry.keeps_me:
            entry.kept_at = now
            return False
        needed = entry.node in tree or not rich or self._is_poor(entry)
        bound = 0.6 * config.bridge_quality if needed else config.leave_quality
        if entry.quality >= bound and entry.keeps_me:
            entry.kept_at = now
            return False
        if entry.kept_at <= now <= entry.kept_at + _PATIENCE * config.period:
            return False
        entry.refused_until = now + 2 * _PATIENCE * config.period
        return True

    def _is_poor(self, entry: Neighbour) -> bool:
        """Whether the other end has few links, so that this one matters to it."""
        return sum(link.kept for link in entry.view.links) <= self.config.min_links

    def _may_enter(self, entry: Neighbour, root: int, *, rich: bool) -> bool:
        config = self.config
        if entry.quality >= config.enter_quality:
            return True
        if entry.quality < config.bridge_quality:
            return False
        wanted = entry.keeps_me and self._is_poor(entry)
        return entry.view.root != root or not rich or wanted

    def _enter(self, now: float, root: int, tree: Collection[int]) -> None:
        config = self.config
        kept = [n for n in self.entries.values() if n.kept]
        while len(kept) > config.max_links:  # only corruption leads here
            kept.remove(worst := min(kept, key=lambda n: (n.node in tree, n.quality)))
            worst.kept = False
        limit = now + 2 * _PATIENCE * config.period
        # Whoever keeps this node is welcome: two ends that wait in turn would never meet.
        candidates = [
            n
            for n in self.entries.values()
            if not n.kept and (n.keeps_me or not now < n.refused_until <= limit)
        ]
        candidates.sort(key=lambda n: (n.view.root == root, not n.keeps_me, -n.quality, n.node))
        for entry in candidates:
            bridge = entry.view.root != root
            if not self._may_enter(entry, root, rich=len(kept) >= config.min_links):
                continue
            if len(kept) >= config.max_links and not self._swap_out(kept, entry, tree, bridge):
                continue
            entry.kept, entry.kept_at = True, now
            kept.append(entry)

    def _swap_out(
        self, kept: list[Neighbour], entry: Neighbour, tree: Collection[int], bridge: bool
    ) -> bool:
        """Make room in a full table for a better link, or for one to another root."""
        spare = [n for n in kept if n.node not in tree]
        if not spare and bridge:  # a child that has other links finds another parent
            spare = [n for n in kept if n.view.parent == self.me and not self._is_alone(n)]
        if not spare:
            return False
        worst = min(spare, key=lambda n: (n.keeps_me, n.quality, -n.node))
        if not bridge and worst.quality + self.config.better_by > entry.quality:
            return False
        worst.kept = False
        kept.remove(worst)
        return True

    def _is_alone(self, entry: Neighbour) -> bool:
        return sum(link.kept for link in entry.view.links) < 2

    def told(self) -> tuple[Link, ...]:
        """The table as the beacon tells it."""
        return tuple(
            Link(n.node, int(min(max(n.inbound, 0), 1) * ON_AIR_LEVELS + 0.5), n.kept)
            for n in self.entries.values()
        )

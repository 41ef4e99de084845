"""Topology control: which neighbours count, by beacons, two-way quality and hysteresis.

A link is *used* when both ends keep it. A node keeps at most C_N links: those the spanning tree
stands on, then those that lead to another root (so that parts find together), then the best.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal.mesh.packets import ON_AIR_LEVELS, Beacon, Link, View

if TYPE_CHECKING:
    from collections.abc import Collection

    from zonal.mesh.config import MeshConfig

_SEQ = 0xFFFF
_LOST_TRACK = 64  # a jump of the sequence number beyond this is a restart, not loss
_PATIENCE = 4  # periods a link is kept without being kept by the other end, and then refused


@dataclass(slots=True)
class Neighbour:
    """What is known of one neighbour."""

    node: int
    view: View
    seq: int
    heard_at: float
    inbound: float = 0.0
    samples: int = 0
    quality: float = 0.0
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
        if len(self.entries) >= self.config.max_candidates and not self._make_room():
            return False
        entry = Neighbour(beacon.sender, beacon.view, beacon.seq, now)
        self.entries[beacon.sender] = entry
        self._estimate(entry, 1)
        return False

    def _make_room(self) -> bool:
        """Forget the worst neighbour that is not kept, if it is a poor one."""
        idle = [(n.inbound, -name) for name, n in self.entries.items() if not n.kept]
        if not idle:
            return False
        worst = -min(idle)[1]
        entry = self.entries[worst]
        if entry.inbound >= self.config.enter_quality and entry.samples > 2:
            return False
        del self.entries[worst]
        return True

    def _estimate(self, entry: Neighbour, gap: int) -> None:
        """Exponentially weighted delivery ratio; a plain mean while there are few samples."""
        if gap == 0 or gap > _LOST_TRACK:
            gap, entry.samples = 1, 0
        weight = 1 - self.config.memory
        entry.samples = max(entry.samples, 0) + 1
        weight = max(weight, 1 / entry.samples)
        quality = min(max(entry.inbound, 0.0), 1.0)
        quality *= self.config.memory ** (gap - 1)
        entry.inbound = quality + (1 - quality) * weight

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
        for node, entry in list(self.entries.items()):
            entry.heard_at = min(entry.heard_at, now)  # a time stamp from the future is corrupt
            if now - entry.heard_at > config.silence * config.period or node != entry.node:
                del self.entries[node]
                continue
            self._read(entry, now)
            if entry.kept and self._should_leave(entry, now, tree):
                entry.kept = False
        self._enter(now, root, tree)
        entries = self.entries.values()
        self.used = {n.node: n for n in entries if n.kept and n.keeps_me}

    def _should_leave(self, entry: Neighbour, now: float, tree: Collection[int]) -> bool:
        config = self.config
        needed = entry.node in tree
        if entry.quality < (config.bridge_quality if needed else config.leave_quality):
            # A young link has no quality yet, because the other end has not reported it.
            if now - entry.kept_at > _PATIENCE * config.period or entry.kept_at > now:
                entry.refused_until = now + _PATIENCE * config.period
                return True
            return False
        entry.kept_at = min(entry.kept_at, now)
        if not entry.keeps_me and now - entry.kept_at > _PATIENCE * config.period:
            entry.refused_until = now + 2 * _PATIENCE * config.period
            return True
        if entry.keeps_me:
            entry.kept_at = now
        return False

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
            if entry.quality < (config.bridge_quality if bridge else config.enter_quality):
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
        if not spare:
            return False
        worst = min(spare, key=lambda n: (n.keeps_me, n.quality, -n.node))
        if not bridge and worst.quality + self.config.better_by > entry.quality:
            return False
        worst.kept = False
        kept.remove(worst)
        return True

    def told(self) -> tuple[Link, ...]:
        """The table as the beacon tells it."""
        return tuple(
            Link(n.node, int(min(max(n.inbound, 0), 1) * ON_AIR_LEVELS + 0.5), n.kept)
            for n in self.entries.values()
        )

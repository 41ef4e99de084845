"""Topology control: which neighbours count, by beacons, two-way quality and hysteresis.

A link is *used* when both ends keep it. A node keeps at most C_N links: those the spanning tree
stands on, then those that lead to another root (so that parts find together), then the best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal.mesh.config import MOST_REST
from zonal.mesh.packets import ON_AIR_LEVELS, Beacon, LinkReport, View

if TYPE_CHECKING:
    from collections.abc import Collection

    from zonal.mesh.config import MeshConfig

_SEQ = 0xFFFF
_LINKS = View._fields.index("links")  # the layers above read only what stands before it
_LOST_TRACK = 64  # a jump of the sequence number beyond this is a restart, not loss
_BY_CHANCE = math.log(1e-5)
_HOP, _LOSS = 5, 100  # a hop costs as much as a link that loses 2.5 % each way
_TRIES = 30  # for each transmission beyond the first that a link takes in the mean
_NEAR_BEST, _FAR_FROM_BEST = 0.8, 0.5
_UNBELIEVABLE = 1e-4
_PRIOR = 0.5  # what a link is taken for before it was watched: a weak one must not pass for good;
_TRIAL = 3  # and this many beacons must be counted before one is taken in
_RESTART = 8  # samples that a contradicted estimate still counts for
_WELL_KNOWN = 20  # beacons after which its quality says what can be had here
_MATURE = 4  # beacons after which a neighbour's quality is known well enough to drop it
_PATIENCE = 4  # periods a link is kept without being kept by the other end, and then refused


def link_cost(quality: float) -> int:
    """What the spanning tree pays for a link of this two-way delivery ratio.

    The logarithm of the ratio, so that of ways over good links the cheapest is the one that most
    publications survive (they are not repeated unless acknowledgement is on); for a weak link the
    transmissions that it takes, so that several better ones are preferred to it; and a little for
    the hop itself, so that of equally good ways the shorter is taken.
    """
    ratio = max(quality, 0.01)
    return min(int(_HOP - _LOSS * math.log(ratio) + _TRIES * (1 / ratio - 1) + 0.5), 4000)


@dataclass(slots=True)
class Neighbour:
    """What is known of one neighbour."""

    node: int
    view: View
    seq: int
    heard_at: float
    inbound: float = _PRIOR
    samples: int = 0
    streak: int = 0
    quality: float = 0.0
    cost: int = 0
    keeps_me: bool = False
    kept: bool = False
    kept_at: float = 0.0
    refused_until: float = 0.0
    pace: int = 1
    """Periods between its beacons, as it said in the last one."""


class LinkTable:
    """The neighbour table of one node."""

    def __init__(self, me: int, config: MeshConfig) -> None:
        self.me = me
        self.config = config
        self.entries: dict[int, Neighbour] = {}
        self.used: dict[int, Neighbour] = {}
        self._usual = 1.0

    def heard(self, beacon: Beacon, now: float) -> bool:
        """Take a beacon in; whether it tells the layers above anything new."""
        entry = self.entries.get(beacon.sender)
        if entry is None:
            return self._admit(beacon, now)
        gap = (beacon.seq - entry.seq) & _SEQ
        entry.seq = beacon.seq
        entry.heard_at = now
        entry.pace = beacon.pace
        if gap != 1 or entry.inbound < 0.999:
            self._estimate(entry, gap)
        view, known = beacon.view, entry.view
        if view is known or view == known:
            return False
        entry.view = view
        if not entry.kept:
            return False
        before = self._matters(entry)
        self._read(entry, now)
        return self._matters(entry) != before or (
            entry.node in self.used and view[:_LINKS] != known[:_LINKS]
        )

    def _matters(self, entry: Neighbour) -> tuple[bool, int, bool]:
        """What the layers above read of a neighbour, beside its view of tree and ring."""
        good = entry.quality >= self.config.shortcut_quality
        return entry.node in self.used, entry.cost, good

    def _admit(self, beacon: Beacon, now: float) -> bool:
        if beacon.sender == self.me:
            return False
        if len(self.entries) >= self.config.max_candidates and not self._make_room(beacon):
            return False
        entry = Neighbour(beacon.sender, beacon.view, beacon.seq, now, pace=beacon.pace)
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
            gap, quality, entry.samples = 1, _PRIOR, 0
        entry.samples = max(entry.samples, 0)
        entry.streak = max(entry.streak, 0) + 1 if gap == 1 else 0
        if self._is_contradicted(quality, entry.streak, gap - 1):
            entry.samples = min(entry.samples, _RESTART)
        for missed in range(gap - 1, -1, -1):
            weight = max(1 - self.config.memory, 1 / (entry.samples + 2))
            quality += ((0 if missed else 1) - quality) * weight
            entry.samples += 1
        entry.inbound = quality

    def _inbound(self, entry: Neighbour, now: float) -> float:
        """The estimate as it would be if what is overdue were lost: few samples fade fast."""
        estimate = entry.inbound
        if not 0.0 <= estimate <= 1.0:  # corrupt
            estimate = min(max(estimate, 0.0), 1.0)
        if now - entry.heard_at < 1.5 * self.config.period:  # nothing is overdue, as nearly always
            return estimate
        missed = int(self._silence(entry, now) - 0.5)
        if missed < 1:
            return estimate
        known = max(entry.samples, 0) + 1
        return estimate * min(self.config.memory**missed, known / (known + missed))

    def _silence(self, entry: Neighbour, now: float) -> float:
        """How many beacons would have come from a neighbour since it was last heard."""
        pace = min(max(entry.pace, 1), MOST_REST)
        return (now - entry.heard_at) / (self.config.period * pace)

    def _is_contradicted(self, quality: float, streak: int, missed: int) -> bool:
        """Whether so many beacons in a row, or so many missed, are not to be believed of it.

        A long memory makes estimates calm; this makes them follow a link that has changed.
        """
        return quality**streak < _UNBELIEVABLE or (1 - quality) ** missed < _UNBELIEVABLE

    def _read(self, entry: Neighbour, now: float) -> None:
        """What the neighbour says of this node: how well it hears it, and whether it keeps it."""
        me = self.me
        outbound, entry.keeps_me = 0, False
        for link in entry.view.links:
            if link.node == me:
                outbound, entry.keeps_me = link.quality, link.kept
                break
        entry.quality = self._inbound(entry, now) * outbound / ON_AIR_LEVELS
        cost = link_cost(entry.quality)
        if not 0.7 * cost <= entry.cost <= 1.4 * cost:  # small changes do not move the tree
            entry.cost = cost
        used = entry.kept and entry.keeps_me
        was_used = entry.node in self.used
        if used and not was_used:
            self.used[entry.node] = entry
        elif was_used and not used:
            del self.used[entry.node]

    def review(self, now: float, root: int, tree: Collection[int]) -> None:
        """Once a period: recompute everything derived, let bad links go, take better ones in."""
        config = self.config
        rich = sum(n.kept for n in self.entries.values()) > config.min_links
        self._usual = self._find_usual()
        for node, entry in list(self.entries.items()):
            entry.heard_at = min(entry.heard_at, now)  # a time stamp from the future is corrupt
            silent = self._silence(entry, now)
            if node != entry.node or (silent > config.silence and silent > self._patience(entry)):
                del self.entries[node]
                continue
            self._read(entry, now)
            if entry.kept and self._should_leave(entry, now, tree, rich=rich):
                entry.kept = False
        self._enter(now, root, tree)
        entries = self.entries.values()
        self.used = {n.node: n for n in entries if n.kept and n.keeps_me}

    def _find_usual(self) -> float:
        """The quality of the `min_links`-th best neighbour: what can be had here.

        Where nobody is heard well, thresholds made for good links would leave a node with whatever
        it met first; so they sink with what there is.
        """
        known = sorted(n.quality for n in self.entries.values() if n.samples >= _WELL_KNOWN)
        return known[-self.config.min_links] if len(known) >= self.config.min_links else 1.0

    def _patience(self, entry: Neighbour) -> float:
        """Periods of silence after which a neighbour is gone, not just unheard by chance.

        One case in 100,000: a network of fifty weak links has a run of bad luck every few periods
        otherwise, and every link of the tree that goes moves the ring.
        """
        usual = self.config.silence
        loss = 1 - min(max(entry.inbound, 0.0), 0.999)
        return min(max(usual, _BY_CHANCE / math.log(loss)), 6 * usual) if loss < 1 else usual

    def _should_leave(
        self, entry: Neighbour, now: float, tree: Collection[int], *, rich: bool
    ) -> bool:
        """Gone bad, or kept by one end only for too long.

        A link of the tree is no worse for being weak: a better way takes its place by its price,
        and where there is none, letting it go and taking it back would move the ring twice.
        """
        config = self.config
        leave = min(config.leave_quality, _FAR_FROM_BEST * self._usual)
        if entry.node in tree:
            bound = 0.0
        elif not rich or self._is_poor(entry):
            bound = min(0.6 * config.bridge_quality, leave)
        else:
            bound = leave
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
        if entry.samples < _TRIAL:
            return False
        if entry.quality >= min(config.enter_quality, _NEAR_BEST * self._usual):
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

    def told(self, now: float) -> tuple[LinkReport, ...]:
        """The table as the beacon tells it."""
        return tuple(
            LinkReport(n.node, int(self._inbound(n, now) * ON_AIR_LEVELS + 0.5), n.kept)
            for n in self.entries.values()
        )

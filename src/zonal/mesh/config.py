"""The parameters of a mesh node, with the reasons for their defaults."""

from __future__ import annotations

from dataclasses import dataclass

from zonal.errors import MeshError

MOST_REST = 64
"""Periods that a beacon may be later than the last one, whatever the configuration."""


@dataclass(frozen=True, slots=True)
class MeshConfig:
    """How a node keeps links, tree, ring and leases; times are in seconds.

    Every node of one mesh should run with the same values.
    """

    period: float = 1.0
    """A node sends one beacon in this time; one *round* of the self-stabilization results."""
    jitter: float = 0.1
    """Timers vary by this share, so that nodes do not keep colliding."""
    trigger_gap: float = 0.1
    """After a change of its tree or ring state a node sends a beacon, but not sooner than this
    share of a period after its last one. 1 means: only on the period."""

    rest_periods: int = 1
    """While nothing changes, the time between a node's beacons doubles up to this many periods. A
    neighbour that is gone is noticed that much later; 1: one beacon a period, always."""

    max_links: int = 8
    """C_N of the paper: links that are kept, and so positions on the ring, per node."""
    max_candidates: int = 24
    """Neighbours whose quality is watched."""
    enter_quality: float = 0.7
    """Two-way delivery ratio from which a link may be taken in …"""
    leave_quality: float = 0.45
    """… and below which it is given up: between the two nothing changes (hysteresis)."""
    bridge_quality: float = 0.1
    """A link may be as bad as this if it leads to another root, or if one end has few links."""
    min_links: int = 3
    """Up to this many links a node has few."""
    shortcut_quality: float = 0.85
    """A link that is worse carries the tree if it must, but no shortcuts."""
    better_by: float = 0.15
    """A full table swaps a link only for one that is better by this much."""
    silence: int = 6
    """Beacons in a row that may be missed before a neighbour counts as gone; more on a link that is
    known to lose much, up to four times as many."""
    memory: float = 0.97
    """Weight of the past in the link estimate (WMEWMA, Woo, Tong and Culler 2003)."""

    max_depth: int = 64
    """No tree is deeper; what claims to be deeper hangs on a root that does not exist."""
    parent_factor: float = 1.5
    """A parent is kept while the way over it costs at most so many times the cheapest; over a link
    of two-way ratio q, 1/q times as many, as the estimate of a weak link is a rough one."""

    lease_floor: float = 5.0
    """δ_S on a small ring; the resubscribe period and the lease of a subscription."""
    lease_per_position: float = 0.02
    """δ_S grows with the ring's length, which every node knows from DOWN."""
    write_back: float = 3.0
    """T_w/back in leases; at least 2, so that each live subscriber is heard in between."""
    max_channels: int = 16_384
    """Channels that a node may subscribe to, and that its routing table holds. While there are more
    in the mesh, publications on channels without a row go along the ring: more messages, no
    loss."""

    acknowledged: bool = False
    """Hop-by-hop acknowledgement of publications, with repetition and a way around."""
    ack_timeout: float = 0.06
    ack_tries: int = 4
    """Tries over a good link; over a weak one as many as it needs, up to eight times as many."""
    ttl: int = 255
    """How often a publication may be forwarded at most, whatever state it meets."""
    pending: int = 64
    """Publications that wait for an acknowledgement, or for a place on the ring, at most."""

    def __post_init__(self) -> None:
        if self.period <= 0 or self.lease_floor <= 0:
            raise MeshError("period and lease_floor are times in seconds and must be above 0")
        if not 1 <= self.rest_periods <= MOST_REST:
            raise MeshError(f"rest_periods is {self.rest_periods}, not from 1 to {MOST_REST}")
        if self.write_back < 2:
            raise MeshError(f"write_back is {self.write_back} leases; below 2 it skips subscribers")
        if not 1 <= self.max_links <= self.max_candidates:
            raise MeshError("max_links must be at least 1 and at most max_candidates")
        if not 0 <= self.leave_quality <= self.enter_quality <= 1:
            raise MeshError("leave_quality must not exceed enter_quality, both from 0 to 1")

    def lease(self, length: int) -> float:
        """δ_S for a ring of this length (section 4.3)."""
        return max(self.lease_floor, self.lease_per_position * length)

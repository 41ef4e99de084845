"""Publications that could not be handed on: they wait for the ring to stand, and go around anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.runtime import Recent

if TYPE_CHECKING:
    from zonal.mesh.config import MeshConfig
    from zonal.mesh.packets import Pub
    from zonal.mesh.place import Place

REMEMBERED = 512
"""Publications and hops that a node remembers, to tell doubles from news."""

WAVES = 3
"""How often a publication may set out, the first time included."""

_QUIET = 2  # periods without a change after which a new ring is taken to stand
_HELD = 20  # beacons until a publication is let go; a broken link is known long before
_RINGS = 2  # that it goes around on from one node: the first may close without those it is for

Standing = tuple[tuple[int, ...], int] | None
"""Own positions and the ring's length; None: no place."""


class Held(NamedTuple):
    """A publication, when it got stuck, and where the node stood when it was last tried."""

    pub: Pub
    since: float
    standing: Standing
    anew: int = 0
    """How often it went around from here already."""


class Stranded:
    """What a node holds back; it goes around whenever the ring has changed and stands again.

    Twice at most, because the two ends of a link that breaks do not notice at the same time: the
    ring may first close without those who were behind it. Going around costs a third of the hops
    that a publication may take, so that none does so in one place after the other: in a network
    that never comes to rest they would multiply.
    """

    def __init__(self, config: MeshConfig) -> None:
        self.config = config
        self.held: list[Held] = []
        self.known: Recent[tuple[int, int]] = Recent(REMEMBERED)
        self.standing: Standing = None
        self.stands_since = 0.0

    def hold(self, pub: Pub, since: float, now: float) -> bool:
        """Keep a publication that was tried since then; False: no room, or it had its time here."""
        spent = self.config.ttl // WAVES
        if pub.ttl <= spent or len(self.held) >= self.config.pending:
            return False
        if self.known.check((pub.origin, pub.serial)):
            return any(h.pub.origin == pub.origin and h.pub.serial == pub.serial for h in self.held)
        tried = self.standing if since >= self.stands_since else None
        self.held.append(Held(pub._replace(ttl=pub.ttl - spent), now, tried))
        return True

    def settle(self, place: Place | None, now: float) -> None:
        """Note where the node stands, and since when."""
        standing = None if place is None else (place.positions, place.length)
        if standing != self.standing or self.stands_since > now:
            self.standing, self.stands_since = standing, now

    def due(self, now: float) -> list[Pub]:
        """What goes around now; what is let go does so too, if it never did: bad luck, no break."""
        quiet = now - _QUIET * self.config.period
        oldest = now - _HELD * self.config.period * self.config.rest_periods
        stands = self.standing is not None and self.stands_since <= quiet
        out, kept = [], []
        for held in self.held:
            is_over = not oldest < held.since <= now
            has_moved = stands and held.standing != self.standing and held.since <= quiet
            goes = held.anew < _RINGS if has_moved else is_over and not held.anew
            if goes:
                out.append(held.pub)
            if not is_over:
                kept.append(
                    held._replace(standing=self.standing, anew=held.anew + 1) if goes else held
                )
        self.held = kept
        return out

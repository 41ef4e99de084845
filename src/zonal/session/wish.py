"""What somebody who listens to a topic wants to have declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.keys import Role

if TYPE_CHECKING:
    from zonal.geo import Area


class Wish(NamedTuple):
    """What one of them wants."""

    area: Area | None
    """Messages from there, its margin included; None: all, those without a location too."""
    around: Area | None = None
    """Where it is itself, its margin included: it hears fenced messages that reach there."""
    every_fence: bool = False
    """Whether it hears fenced messages wherever it is."""
    role: Role = Role.SUBSCRIBER
    closely: bool = True
    """Of an area that moves: whether little may come from outside, or few keys may change."""
    place_m: float | None = None
    """How wide the cells around its own place are at the least, in metres."""

"""Positions are claims: whether somebody can have come from the last one to the next."""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.geo import Point
    from zonal.trust.who import Who

SLACK_M = 50.0
"""How far a receiver may be wrong without counting as having moved."""
ANCHOR_S = 30.0
"""For how long positions are compared with the same earlier one. Compared with the last alone,
many small steps, each within the slack, would make any speed."""
FORGOTTEN_S = 3600.0
"""After so long without a position a jump says nothing."""
_KEPT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plausible:
    """How those whom it is for may move."""

    name: str
    who: Who
    max_speed_m_s: float | None = None
    max_jump_m: float | None = None
    refuse: bool = False
    """Whether an implausible position is refused; else it is only counted."""


class Judged(NamedTuple):
    """What is thought of a position."""

    plausible: bool
    refused: bool
    reason: str = ""


_FINE = Judged(plausible=True, refused=False)


@dataclass(slots=True)
class _Track:
    anchor: Point
    anchored_at: float
    last: Point
    last_at: float


@dataclass(slots=True)
class Movements:
    """The last positions of each client of each user, and how many were not plausible."""

    kinds: Sequence[Plausible] = ()
    implausible: Counter[str] = field(default_factory=Counter)
    """By user; those without a name under the empty one."""
    _tracks: OrderedDict[tuple[str | None, str], _Track] = field(default_factory=OrderedDict)

    def judge(self, user: str | None, client: str, point: Point, now: float) -> Judged:
        """Takes a position at a time in seconds; a refused one is as if it had not been said."""
        kind = next((kind for kind in self.kinds if kind.who.includes(user)), None)
        if kind is None:
            return _FINE
        track = self._tracks.get((user, client))
        wrong = "" if track is None else _what_is_wrong(kind, track, point, now)
        if wrong:
            self.implausible[user or ""] += 1
            if kind.refuse:
                return Judged(plausible=False, refused=True, reason=wrong)
        self._take(user, client, track, point, now, anew=bool(wrong))
        return Judged(plausible=False, refused=False, reason=wrong) if wrong else _FINE

    def forget(self, user: str | None, client: str) -> None:
        """A client is gone for good."""
        self._tracks.pop((user, client), None)

    def _take(
        self, user: str | None, client: str, track: _Track | None, point: Point, now: float,
        *, anew: bool,
    ) -> None:  # fmt: skip
        if track is None or anew:
            track = self._tracks[user, client] = _Track(point, now, point, now)
        elif now - track.anchored_at >= ANCHOR_S:
            track.anchor, track.anchored_at = track.last, track.last_at
        track.last, track.last_at = point, now
        self._tracks.move_to_end((user, client))
        if len(self._tracks) > _KEPT:
            self._tracks.popitem(last=False)


def _what_is_wrong(kind: Plausible, track: _Track, point: Point, now: float) -> str:
    if kind.max_jump_m is not None and now - track.last_at < FORGOTTEN_S:
        step = track.last.distance_m(point)
        if step > kind.max_jump_m:
            return f"{step:.0f} m away from the last position; at most {kind.max_jump_m:g} m"
    if kind.max_speed_m_s is not None:
        far = track.anchor.distance_m(point)
        seconds = max(0.0, now - track.anchored_at)
        if far > kind.max_speed_m_s * seconds + SLACK_M:
            return f"{far:.0f} m in {seconds:.1f} s; at most {kind.max_speed_m_s:g} m/s"
    return ""

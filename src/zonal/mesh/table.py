"""The routing structure RS: next subscriber, time stamp and temporary next subscriber.

One row per channel and own position, as section 4 has it; updating and cleaning are algorithm 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from zonal.mesh.ring import between


@dataclass(slots=True)
class RoutingRow:
    """⟨ns, t_s, nstmp⟩; None is ⊥."""

    following: int | None
    stamp: float
    temporary: int | None = None


class RoutingTable:
    """RS(v): for each channel one row per own position."""

    def __init__(self, max_channels: int) -> None:
        self.max_channels = max_channels
        self.positions: tuple[int, ...] = ()
        self.length = 1
        self.rows: dict[int, list[RoutingRow]] = {}
        self.overflows = 0
        self.overflowed_at = -inf

    def settle(self, positions: tuple[int, ...], length: int) -> None:
        """Start anew on these positions: what was known is about positions of another ring."""
        self.positions, self.length = positions, length
        self.rows.clear()

    def update(self, channel: int, subscriber: tuple[int, ...], now: float, lease: float) -> None:
        """`UpdSn(c, SP)` of algorithm 3."""
        rows = self.rows.get(channel)
        if rows is None or len(rows) != len(self.positions):
            rows = self._open(channel, now)
        length = self.length
        places = [place for place in subscriber if place < length]
        for own, row in zip(self.positions, rows, strict=True):
            # Of one subscriber only the nearest position counts: another one of its own would
            # outlive it as the temporary next subscriber.
            steps = min((each - own) % length or length for each in places) if places else 0
            if not 0 < steps < length:
                continue
            place = (own + steps) % length
            if row.following is None or between(place, own, row.following, length):
                # One that speaks again needs no successor: what was gathered may be gone by then.
                row.following, row.stamp, row.temporary = place, now, None
            elif now - row.stamp > lease and (
                row.temporary is None or between(place, own, row.temporary, length)
            ):
                row.temporary = place

    def _open(self, channel: int, now: float) -> list[RoutingRow]:
        rows = [RoutingRow(None, now) for _ in self.positions]
        if channel in self.rows or len(self.rows) < self.max_channels:
            self.rows[channel] = rows
        else:
            self.overflows += 1
            self.overflowed_at = now
        return rows

    def lacks(self, channels: tuple[int, ...], now: float, write_back: float) -> bool:
        """Whether there may be a subscriber of these channels for whom the table had no room.

        So it is from an overflow until every live subscriber has been heard again.
        """
        if not 0 <= now - self.overflowed_at <= write_back:
            return False
        return any(channel not in self.rows for channel in channels)

    def clean(self, now: float, write_back: float) -> None:
        """`TIMER_CLEAN` of algorithm 3: a stale value gives way to the temporary one.

        Beyond the listing, what only corruption can produce is put right: time stamps from the
        future, positions that are not on the ring, rows that do not fit the own positions.
        """
        length = self.length
        for channel, rows in list(self.rows.items()):
            if len(rows) != len(self.positions):
                del self.rows[channel]
                continue
            is_empty = True
            for own, row in zip(self.positions, rows, strict=True):
                following, temporary = row.following, row.temporary
                if following is not None and (following >= length or following == own):
                    row.following = None
                if temporary is not None and (temporary >= length or temporary == own):
                    row.temporary = None
                if row.stamp > now:
                    row.stamp = now
                elif now - row.stamp > write_back:
                    row.following, row.stamp, row.temporary = row.temporary, now, None
                if row.following is not None or row.temporary is not None:
                    is_empty = False
            if is_empty:
                del self.rows[channel]

    def nearest(self, channels: tuple[int, ...], index: int) -> int | None:
        """The next subscriber of any of the channels, seen from the own position at `index`."""
        own, best, best_steps = self.positions[index], None, self.length + 1
        for channel in channels:
            rows = self.rows.get(channel)
            following = rows[index].following if rows and index < len(rows) else None
            if following is None:
                continue
            steps = (following - own) % self.length or self.length
            if steps < best_steps:
                best, best_steps = following, steps
        return best

"""How much happens a minute, averaged over 1, 5 and 15 minutes, as Mosquitto has it in `$SYS`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MINUTES = (1, 5, 15)


class Loads:
    """Moving averages of what counters gain."""

    def __init__(self, now: float) -> None:
        self._at = now
        self._last: dict[str, int] = {}
        self._averages: dict[str, list[float]] = {}

    def update(self, counts: dict[str, int], now: float) -> Iterator[tuple[str, str]]:
        """Takes the counters as they are now; the averages by name."""
        seconds = now - self._at
        self._at = now
        for name, count in counts.items():
            gained = (count - self._last.get(name, 0)) * 60 / seconds if seconds > 0 else 0.0
            self._last[name] = count
            averages = self._averages.setdefault(name, [0.0] * len(MINUTES))
            for index, minutes in enumerate(MINUTES):
                share = math.exp(-seconds / (60 * minutes))
                averages[index] = gained + (averages[index] - gained) * share
                yield f"load/{name}/{minutes}min", f"{averages[index]:.2f}"

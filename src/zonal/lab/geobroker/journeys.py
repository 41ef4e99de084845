"""Journeys for clients: Geolife's trajectories by increasing identifier, or made-up walks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from zonal.errors import PlanError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_HEADER_LINES = 6
_MOST_STEPS = 20_000
_CENTRE = (39.9, 116.4)


@dataclass(frozen=True)
class Journey:
    """Places and when they are reached, in seconds since the start; then it begins again."""

    name: str
    at_s: NDArray[np.float64]
    lats: NDArray[np.float64]
    lons: NDArray[np.float64]

    def arrival(self, step: int) -> tuple[float, float, float]:
        """When the traveller reaches its n-th place, and where that is."""
        rounds, within = divmod(step, len(self.at_s))
        # At its last place a client jumps back to the first one at once (section 5.1); a client
        # that stood still for ever in no time would never end a round.
        period = max(float(self.at_s[-1]), 1.0)
        return (
            rounds * period + float(self.at_s[within]),
            float(self.lats[within]),
            float(self.lons[within]),
        )

    def begun_later(self, cut: int) -> Journey:
        """The same way, begun at another of its places."""
        period = max(float(self.at_s[-1]), 1.0)
        order = np.roll(np.arange(len(self.at_s)), -cut)
        return Journey(
            f"{self.name}+{cut}",
            (self.at_s[order] - self.at_s[cut]) % period,
            self.lats[order],
            self.lons[order],
        )


def journeys(count: int, folder: Path | None) -> list[Journey]:
    """So many journeys, always the same; where trajectories run out, they are begun elsewhere."""
    found = _geolife(folder, count) if folder is not None and folder.is_dir() else []
    if not found:
        found = made_up_walks(count)
    known = len(found)
    for number in range(known, count):
        first = found[number % known]
        found.append(first.begun_later(len(first.at_s) * (number // known) // (count // known + 1)))
    return found


def _geolife(folder: Path, count: int) -> list[Journey]:
    found: list[Journey] = []
    for path in sorted(folder.rglob("*.plt")):
        if len(found) == count:
            break
        journey = read_plt(path)
        if len(journey.at_s):
            found.append(journey)
    return found


def read_plt(path: Path) -> Journey:
    """One trajectory of Geolife; places that are none (latitude 400 occurs) are left out."""
    rows: list[tuple[float, float, float]] = []
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines()):
        fields = line.split(",")
        if number < _HEADER_LINES or len(rows) == _MOST_STEPS:
            continue
        try:
            moment = datetime.fromisoformat(f"{fields[5]}T{fields[6]}").replace(tzinfo=UTC)
            rows.append((moment.timestamp(), float(fields[0]), float(fields[1])))
        except (ValueError, IndexError) as error:
            raise PlanError(f"{path}, line {number + 1}: no place and time of Geolife") from error
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    table = table[(np.abs(table[:, 1]) <= 90) & (np.abs(table[:, 2]) <= 180)]
    table = table[np.argsort(table[:, 0], kind="stable")]
    start = table[0, 0] if len(table) else 0.0
    name = f"{path.parent.parent.name}/{path.stem}"
    return Journey(name, table[:, 0] - start, table[:, 1], table[:, 2])


def made_up_walks(count: int, *, steps: int = 600, seed: int = 7) -> list[Journey]:
    """Walks and rides in Beijing with Geolife's rhythm: a place every one to five seconds."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        at = np.concatenate(([0.0], np.cumsum(random.integers(1, 6, steps - 1))))
        speed = random.uniform(1.0, 12.0) * 9e-6
        heading = np.cumsum(random.normal(0, 0.2, steps)) + random.uniform(0, 2 * np.pi)
        moved = speed * np.diff(at, prepend=0.0)
        lats = _CENTRE[0] + random.normal(0, 0.05) + np.cumsum(moved * np.cos(heading))
        lons = _CENTRE[1] + random.normal(0, 0.06) + np.cumsum(moved * np.sin(heading))
        found.append(Journey(f"walk/{number:05}", at, lats, lons))
    return found

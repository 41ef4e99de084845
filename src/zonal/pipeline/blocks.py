"""Places in blocks of neighbours: whole blocks inside or outside a circle need no test each.

Blocks are balls in space around some consecutive places (along the Hilbert curve, so they are
small), and a circle on the sphere is what lies within a ball around its centre. The triangle
inequality then decides most blocks; in the others, and only there, each place is tested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from zonal.geo import EARTH_RADIUS_M, EDGE_TOLERANCE_M, unit_vector, unit_vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zonal.geo import Circle

BLOCK = 64
# Nearer to the edge than this (relative to the circle), rounding could decide: test exactly.
_ROUNDING = 1e-11


class Split(NamedTuple):
    """Blocks that are wholly inside, and single places (by number) that are."""

    blocks: NDArray[np.int64]
    places: NDArray[np.int64]


class Blocks:
    """Places, in an order in which neighbours are near each other."""

    def __init__(self, lats: NDArray[np.float64], lons: NDArray[np.float64]) -> None:
        self._lats, self._lons = lats, lons
        self._vectors = np.stack(unit_vectors(lats, lons))
        self.starts = np.arange(0, len(lats), BLOCK)
        sizes = np.diff(np.append(self.starts, len(lats)))
        if len(lats):
            self._centres = np.add.reduceat(self._vectors, self.starts, axis=1) / sizes
            away = _distances(self._vectors, np.repeat(self._centres, sizes, axis=1))
            self._reaches = np.maximum.reduceat(away, self.starts)

    def touched(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
        """The blocks with a place in low <= number < high of any of the ranges."""
        full = high > low
        first, last = low[full] // BLOCK, (high[full] - 1) // BLOCK
        counts = last - first + 1
        begin = np.repeat(first - np.cumsum(counts) + counts, counts)
        return np.unique(begin + np.arange(len(begin)))

    def rows(self, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of blocks."""
        every = (blocks[:, np.newaxis] * BLOCK + np.arange(BLOCK)).ravel()
        return every[every < len(self._lats)]

    def inside(self, circle: Circle, blocks: NDArray[np.int64]) -> Split:
        """Which of these blocks, and which places of the others, a circle holds."""
        assert circle.center is not None
        centre = np.array(unit_vector(circle.center))
        angle = min((circle.radius_m + EDGE_TOLERANCE_M) / EARTH_RADIUS_M, np.pi)
        chord = 2 * np.sin(angle / 2)
        near, far = chord * (1 - _ROUNDING) - 1e-15, chord * (1 + _ROUNDING) + 1e-15
        away = _distances(self._centres[:, blocks], centre[:, np.newaxis])
        whole = away + self._reaches[blocks] < near
        # A block with a place that is not a number is neither: comparisons with it are false.
        apart = away - self._reaches[blocks] > far
        rows = self.rows(blocks[~whole & ~apart])
        away = _distances(self._vectors[:, rows], centre[:, np.newaxis])
        held = away < near
        unsure = np.flatnonzero(~held & (away <= far))
        if len(unsure):
            at = rows[unsure]
            held[unsure] = circle.contains_many(self._lats[at], self._lons[at])
        return Split(blocks[whole], rows[held])


def _distances(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    x, y, z = a - b
    away: NDArray[np.float64] = np.sqrt(x * x + y * y + z * z)
    return away

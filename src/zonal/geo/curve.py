"""S2's Hilbert curve and its projection, for one cell at a time: from a position to a place.

`cell_array` does the same for whole arrays, the other way round, from these tables.
"""

from __future__ import annotations

from math import atan2, degrees, sqrt

LEVELS_A_STEP = 4
"""The curve is walked so many levels at a time."""
SWAP, INVERT = 1, 2
IJ_OF_POSITION = ((0, 1, 3, 2), (0, 2, 3, 1), (3, 2, 0, 1), (3, 1, 0, 2))
"""By the turn of a square, and the position of a quarter along the curve: its column and row."""
TURN_OF_POSITION = (SWAP, 0, 0, INVERT | SWAP)
"""What a quarter's turn differs by from that of its square."""

_STEP_BITS = 2 * LEVELS_A_STEP
_STEP_MASK = (1 << _STEP_BITS) - 1


def _after(turn: int, position: int, levels: int) -> tuple[int, int, int]:
    i = j = 0
    for level in range(levels - 1, -1, -1):
        child = position >> 2 * level & 3
        ij = IJ_OF_POSITION[turn][child]
        i, j, turn = i << 1 | ij >> 1, j << 1 | ij & 1, turn ^ TURN_OF_POSITION[child]
    return i, j, turn


_STEPS = tuple(
    tuple(_after(turn, position, LEVELS_A_STEP) for position in range(_STEP_MASK + 1))
    for turn in range(4)
)


def middle_of(face: int, position: int, level: int) -> tuple[float, float]:
    """Latitude and longitude in degrees of the middle of a cell: `level` quarters of its face."""
    i, j, turn = 0, 0, face & SWAP
    bits = 2 * level
    while bits >= _STEP_BITS:
        bits -= _STEP_BITS
        across, up, turn = _STEPS[turn][position >> bits & _STEP_MASK]
        i, j = i << LEVELS_A_STEP | across, j << LEVELS_A_STEP | up
    if bits:
        across, up, _ = _after(turn, position & (1 << bits) - 1, bits // 2)
        i, j = i << bits // 2 | across, j << bits // 2 | up
    size = 1 << level
    u, v = _projected((i + 0.5) / size), _projected((j + 0.5) / size)
    if face == 0:
        x, y, z = 1.0, u, v
    elif face == 1:
        x, y, z = -u, 1.0, v
    elif face == 2:
        x, y, z = -u, -v, 1.0
    elif face == 3:
        x, y, z = -1.0, -v, -u
    elif face == 4:
        x, y, z = v, -1.0, -u
    else:
        x, y, z = v, u, -1.0
    return degrees(atan2(z, sqrt(x * x + y * y))), degrees(atan2(y, x))


def _projected(s: float) -> float:
    """S2's quadratic projection."""
    return (4 * s * s - 1) / 3 if s >= 0.5 else (1 - 4 * (1 - s) * (1 - s)) / 3

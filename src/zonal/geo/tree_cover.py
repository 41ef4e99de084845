"""Which cells of a tree to take for a cover: the fewest that fit, by a price for each cell.

A cell costs its area and the price, or what its parts cost, whichever is less. The higher the
price, the fewer and the larger are the cells that cost least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SHADES = 32  # prices to choose from, for each doubling


class CoverLayer(NamedTuple):
    """The cells of one depth of a tree that an area needs."""

    parents: NDArray[np.int64]
    """Where in the layer above the cell stands that each is a part of; at the top 0."""
    above: int
    """How many cells the layer above has; at the top 1."""
    is_inside: NDArray[np.bool_]
    """Whether each lies in the area as a whole, or has no parts: it is not split."""
    areas: NDArray[np.float64]
    """In any unit."""


def cheapest(
    layers: Sequence[CoverLayer], most: int, enough: float = 0.0
) -> list[NDArray[np.bool_]]:
    """Which cells of each layer to take: at most so many, as small together as these can be.

    Parts that are not in the next layer are not needed. Fewer are taken where these together are
    not larger than `enough`. The cells of the top layer are all taken where they are too many
    already.
    """
    smallest = min(layer.areas.min() for layer in layers if len(layer.areas))
    largest = max(layer.areas.max() for layer in layers if len(layer.areas))
    low = int(_SHADES * np.log2(smallest / 256.0))
    high = int(_SHADES * np.log2(largest * 1024.0))
    coarse, fine = _at_price(2.0 ** (high / _SHADES), layers), None
    while high - low > 1:
        middle = (low + high) // 2
        taken = _at_price(2.0 ** (middle / _SHADES), layers)
        count = _count(taken)
        if count > most or _size(layers, taken) <= enough:
            fine, low = taken, middle
        else:
            coarse, high = taken, middle
            if count == most:
                break
    return coarse if fine is None else _between(layers, coarse, fine, most, enough)


def _between(
    layers: Sequence[CoverLayer],
    coarse: list[NDArray[np.bool_]],
    fine: list[NDArray[np.bool_]],
    most: int,
    enough: float,
) -> list[NDArray[np.bool_]]:
    """The coarse cells, and of those that spare most, one by one, the fine ones in their place.

    Cells that are alike are split at one and the same price: all of them, or none.
    """
    counts, sizes = _inside_each(layers, fine)
    left, too_much = most - _count(coarse), _size(layers, coarse) - enough
    split = [np.zeros(len(layer.areas), np.bool_) for layer in layers]
    candidates = [
        (counts[depth][cell] - 1.0, layers[depth].areas[cell] - sizes[depth][cell], depth, cell)
        for depth, apart in enumerate(zip(coarse, fine, strict=True))
        for cell in np.flatnonzero(apart[0] & ~apart[1]).tolist()
    ]
    candidates.sort(key=lambda each: each[0] / each[1] if each[1] > 0.0 else np.inf)
    for added, spared, depth, cell in candidates:
        if too_much <= 0.0:
            break
        if added <= left and spared > 0.0:
            split[depth][cell] = True
            left, too_much = left - added, too_much - spared
    taken = []
    is_open = np.zeros(layers[0].above, np.bool_)
    for layer, whole, part, is_split in zip(layers, coarse, fine, split, strict=True):
        below = is_open[layer.parents]
        taken.append((whole & ~is_split) | (below & part))
        is_open = is_split | (below & ~part)
    return taken


def _inside_each(
    layers: Sequence[CoverLayer], taken: list[NDArray[np.bool_]]
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    """How many of the taken cells each cell is made of, and how large these are together."""
    counts: list[NDArray[np.float64]] = []
    sizes: list[NDArray[np.float64]] = []
    count, size = (np.zeros(len(layers[-1].areas)) for _ in range(2))
    for layer, which in zip(reversed(layers), reversed(taken), strict=True):
        counts.append(np.where(which, 1.0, count))
        sizes.append(np.where(which, layer.areas, size))
        count, size = (
            np.bincount(layer.parents, each[-1], minlength=layer.above).astype(np.float64)
            for each in (counts, sizes)
        )
    return counts[::-1], sizes[::-1]


def _count(taken: list[NDArray[np.bool_]]) -> int:
    return sum(map(int, map(np.count_nonzero, taken)))


def _size(layers: Sequence[CoverLayer], taken: list[NDArray[np.bool_]]) -> float:
    pairs = zip(layers, taken, strict=True)
    return float(sum(layer.areas[which].sum() for layer, which in pairs))


def _at_price(price: float, layers: Sequence[CoverLayer]) -> list[NDArray[np.bool_]]:
    """Which cells of each layer cost least where each costs its area and a price."""
    is_split: list[NDArray[np.bool_]] = []
    parts = np.full(len(layers[-1].areas), np.inf)  # what those of each cell cost
    for layer in reversed(layers):
        whole = layer.areas + price
        split = ~layer.is_inside & (parts < whole)
        is_split.append(split)
        cost = np.where(split, parts, whole)
        parts = np.bincount(layer.parents, cost, minlength=layer.above).astype(np.float64)
    taken = []
    is_open = np.ones(layers[0].above, np.bool_)
    for layer, split in zip(layers, reversed(is_split), strict=True):
        reached = is_open[layer.parents]
        taken.append(reached & ~split)
        is_open = reached & split
    return taken

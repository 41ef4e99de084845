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
    smaller than `enough`. The cells of the top layer are all taken where they are too many already.
    """
    smallest = min(layer.areas.min() for layer in layers if len(layer.areas))
    largest = max(layer.areas.max() for layer in layers if len(layer.areas))
    low = int(_SHADES * np.log2(smallest / 256.0))
    high = int(_SHADES * np.log2(largest * 1024.0))
    best = _at_price(2.0 ** (high / _SHADES), layers)
    while high - low > 1:
        middle = (low + high) // 2
        taken = _at_price(2.0 ** (middle / _SHADES), layers)
        count = sum(map(np.count_nonzero, taken))
        if count > most or (enough and _size(layers, taken) < enough):
            low = middle
        else:
            best, high = taken, middle
            if count == most:
                break
    return best


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

"""Covers of a circle that moves: tiles are kept until it has left them, new ones last for long.

A tile that is declared costs a price, once, and its area for as long as the circle touches it. So
where the circle comes to, a tile is taken as a whole or as its parts, whichever costs less on the
way straight on. Tiles are never exchanged for others of the same place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

Tile = TypeVar("Tile")


class TileSpot(NamedTuple):
    """Where a tile lies for a circle on its way, and how large it is."""

    ahead_m: float
    """From the circle's middle to the tile's, along the way."""
    aside_m: float
    along_m: float
    """From the tile's middle to its end, along the way."""
    across_m: float
    area_m2: float


class Tiles(Protocol[Tile]):
    """A tree of tiles and a circle above it."""

    def parts(self, tile: Tile) -> Sequence[Tile]:
        """Those that it consists of; none of the finest."""

    def touches(self, tile: Tile) -> bool:
        """Whether the circle has a point of it."""

    def spot(self, tile: Tile) -> TileSpot:
        """Where it lies."""


def new_tiles(
    tiles: Tiles[Tile],
    tops: Iterable[Tile],
    kept: Collection[Tile],
    above_kept: Collection[Tile],
    radius_m: float,
    price: float,
) -> Iterator[Tile]:
    """What has to be added to the tiles that are kept, so that together they contain the circle.

    `tops` contain it, `above_kept` are the tiles that contain kept ones. The price of a tile is
    given in cubes of the radius (an area times a way): the higher, the fewer and larger they are.
    """
    waiting = list(tops)
    cost = price * radius_m**3
    while waiting:
        tile = waiting.pop()
        if tile in kept or not tiles.touches(tile):
            continue
        if tile in above_kept or _is_split(tiles, tile, radius_m, cost):
            waiting.extend(tiles.parts(tile))
        else:
            yield tile


def _is_split(tiles: Tiles[Tile], tile: Tile, radius_m: float, cost: float) -> bool:
    parts = tiles.parts(tile)
    if not parts:
        return False
    whole = _worth(tiles.spot(tile), radius_m, is_touched=True) + cost
    for part in parts:
        used = _worth(tiles.spot(part), radius_m, is_touched=tiles.touches(part))
        if used:
            whole -= used + cost
    return whole > 0


def _worth(spot: TileSpot, radius_m: float, *, is_touched: bool) -> float:
    """The area of a tile times the way on which the circle touches it from now on.

    Where it lies is known by its middle and its mean reach. One that is touched at a corner, which
    may be beyond that, counts as touched until the circle has passed it.
    """
    aside_m = max(0.0, abs(spot.aside_m) - spot.across_m)
    if aside_m >= radius_m and not is_touched:
        return 0.0
    half_m = math.sqrt(max(0.0, radius_m * radius_m - aside_m * aside_m)) + spot.along_m
    way_m = max(0.0, min(half_m + spot.ahead_m, 2 * half_m))
    return spot.area_m2 * (max(way_m, spot.along_m) if is_touched else way_m)

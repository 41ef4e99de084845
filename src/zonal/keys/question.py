"""The keys of questions about an area, and of those who answer them.

Each expression costs a query on every link, and a call for every pair that meets, while a
queryable that is asked for nothing (its area lies beside the asked one) compares two areas. So
questions take wider cells than subscriptions: one or two expressions, four across a corner.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from zonal.errors import LocationKeyError
from zonal.geo import Area, Cell, Everywhere, Point, as_area
from zonal.keys.encoding import Encoding, Role
from zonal.keys.grammar import join

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from zonal.geo import GivenArea

_FEW = (1, 2, 4)
_MOST = 8
_REACH = 8.0
"""How many times longer than the area its cells may be."""


def query_keys(
    topic: str,
    area: GivenArea | None,
    encodings: Iterable[Encoding],
    announced: Callable[[Encoding], Iterable[str]],
) -> tuple[str, ...]:
    """What a question about an area is asked under; None: about the whole network.

    In an encoding that announces areas the question goes to the expressions that `announced`
    tells: those of queryables whose area intersects this one.
    """
    keys, asked = ([topic], Everywhere()) if area is None else ([], as_area(area))
    for encoding in encodings:
        if encoding.announces_areas:
            expressions = announced(encoding)
        else:
            expressions = wide_expressions(encoding, asked, Role.GET)
        keys += [join(topic, expression) for expression in expressions]
    return tuple(keys)


def queryable_keys(
    topic: str, area: GivenArea | None, encodings: Iterable[Encoding]
) -> tuple[str, ...]:
    """What is declared by one who answers questions about an area; None: about the whole network.

    Those of an encoding that announces areas have to be announced (`keys_to_announce`).
    """
    keys, placed = ([topic], Everywhere()) if area is None else ([], as_area(area))
    for encoding in encodings:
        if encoding.announces_areas:
            expressions = encoding.area_expressions(placed, Role.QUERYABLE)
        else:
            expressions = wide_expressions(encoding, placed, Role.QUERYABLE)
        keys += [join(topic, expression) for expression in expressions]
    return tuple(keys)


@lru_cache(maxsize=1024)
def wide_expressions(encoding: Encoding, area: Area, role: Role) -> tuple[str, ...]:
    """The fewest expressions of an area whose cells are at most eight times longer than it."""
    close = encoding.area_expressions(area, role, _MOST)
    for most in _FEW:
        if len(close) <= most:
            break
        wider = encoding.area_expressions(area, role, most)
        if all(_is_near(encoding, expression, area) for expression in wider):
            return wider
    return close


def _is_near(encoding: Encoding, expression: str, area: Area) -> bool:
    try:
        place = encoding.decode(expression, Role.GET)
    except LocationKeyError:  # a square that is on no map, as beside the equator: not known to be
        return False
    return not isinstance(place, Point) and _extent_deg(place) <= _REACH * _extent_deg(area)


def _extent_deg(area: Area | Cell) -> float:
    bounds = area.bounds
    return max(bounds.height_deg, bounds.width_deg * math.cos(math.radians(bounds.center.lat)))

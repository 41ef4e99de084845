"""The nearest things of a table: circles around a place that grow until they hold enough."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from zonal.errors import StoreError
from zonal.geo import HALF_CIRCUMFERENCE_M, Cell, Circle, Everywhere, Point
from zonal.keys import refine

if TYPE_CHECKING:
    import zenoh

    from zonal.geo import Area
    from zonal.keys import Place
    from zonal.store.table import Table
    from zonal.store.thing import StoredThing
    from zonal.store.thing_filter import ThingFilter

_FIRST_M = 250.0
_GROWTH = 2.0


@dataclass(frozen=True)
class Nearness:
    """So many of the nearest to a place."""

    count: int
    to: Point
    beyond_m: float = -1.0
    """Only those farther away: an earlier answer had the others."""

    @classmethod
    def of(cls, parameters: zenoh.Parameters) -> Nearness | None:
        """What a question's parameters say: `_nearest=10;_to=45.46,9.19;_beyond=1000`."""
        count = parameters.get("_nearest")
        if count is None:
            return None
        try:
            lat, lon = (parameters.get("_to") or "").split(",")
            wanted = cls(int(count), Point(float(lat), float(lon)))
            wanted = replace(wanted, beyond_m=float(parameters.get("_beyond") or -1))
        except ValueError as error:
            raise StoreError(f"_nearest=10;_to=45.46,9.19 asks for the nearest: {error}") from error
        if wanted.count < 1:
            raise StoreError(f"_nearest is at least 1, not {wanted.count}")
        return wanted


def distance_to(place: Place, to: Point) -> float:
    """Metres from a place, of a blurred one from its middle."""
    return (place.center if isinstance(place, Cell) else place).distance_m(to)


def nearest_in(table: Table, wanted: ThingFilter, near: Nearness) -> list[StoredThing]:
    """The nearest of the wanted things, nearest first."""
    radius_m = max(_FIRST_M, near.beyond_m * _GROWTH)
    while True:
        is_all = radius_m >= HALF_CIRCUMFERENCE_M
        around: Area = Everywhere() if is_all else Circle(near.to, radius_m=radius_m)
        if wanted.area is not None and _covers(around, wanted.area):
            around, is_all = wanted.area, True
        found = [
            (distance, each)
            for each in table.find(replace(wanted, area=around))
            if (place := each.place) is not None
            and (distance := distance_to(place, near.to)) > near.beyond_m
            and (is_all or distance <= radius_m)
            and (wanted.area is None or refine(wanted.area, place))
        ]
        if is_all or len(found) >= near.count:
            chosen = heapq.nsmallest(near.count, found, key=lambda pair: (pair[0], pair[1].key))
            return [each for _, each in chosen]
        radius_m *= _GROWTH


def _covers(around: Area, area: Area) -> bool:
    """Whether a circle has grown to hold all of the wanted area, as far as that is easily said."""
    return (
        isinstance(around, Circle)
        and isinstance(area, Circle)
        and area.center == around.center
        and area.radius_m <= around.radius_m
    )

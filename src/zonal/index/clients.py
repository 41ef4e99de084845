"""Where the clients are, in columns, for the third check: is the consumer in the geofence?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonal.geo import Area, Circle, unit_vector
from zonal.index.columns import DOUBT
from zonal.index.figures import plane_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from zonal.geo import Point
    from zonal.index.columns import Rows

NOBODY = 0
"""The seat of subscriptions without a client; its location is never known."""

_VECTORS_FROM = 4  # from here on one vectorized test is faster than asking point by point


class Clients:
    """Seats for clients; each seat has a location or none."""

    def __init__(self) -> None:
        self._seats: dict[Hashable, int] = {}
        self._free: list[int] = []
        self._points: list[Point | None] = [None]
        # x, y, z, 1 on the unit sphere; not-a-number where the location is unknown, so that
        # every comparison fails.
        self._vectors: NDArray[np.float64] = np.full((16, 4), np.nan)

    def __len__(self) -> int:
        return len(self._seats)

    def seat(self, client: Hashable | None) -> int:
        """The seat of a client, taken when first needed."""
        if client is None:
            return NOBODY
        seat = self._seats.get(client)
        if seat is None:
            seat = self._seats[client] = self._free.pop() if self._free else self._new_seat()
        return seat

    def point(self, client: Hashable) -> Point | None:
        """The last known location of a client."""
        seat = self._seats.get(client)
        return None if seat is None else self._points[seat]

    def locate(self, seat: int, point: Point | None) -> None:
        """Set the location of a seat; None makes it unknown."""
        self._points[seat] = point
        if point is None:
            self._vectors[seat] = np.nan
            return
        x, y, z = unit_vector(point)
        self._vectors[seat] = x, y, z, 1.0

    def leave(self, client: Hashable) -> None:
        """Free a client's seat."""
        seat = self._seats.pop(client, None)
        if seat is not None:
            self.locate(seat, None)
            self._free.append(seat)

    def inside(self, seats: Rows, geofence: Area) -> NDArray[np.bool_]:
        """Which seats have a known location inside the geofence."""
        if len(seats) < _VECTORS_FROM:
            points = [self._points[seat] for seat in seats.tolist()]
            return np.array(
                [point is not None and geofence.contains(point) for point in points],
                dtype=np.bool_,
            )
        if isinstance(geofence, Circle) and geofence.center is not None:
            return self._inside_circle(seats, geofence, geofence.center)
        return self._inside_any(seats, geofence)

    def _inside_circle(self, seats: Rows, circle: Circle, center: Point) -> NDArray[np.bool_]:
        side = self._vectors[seats].dot(np.array(plane_of(center, circle.radius_m)))
        inside: NDArray[np.bool_] = side > DOUBT
        possible = side >= -DOUBT
        if inside.tobytes() != possible.tobytes():
            for position in (inside ^ possible).nonzero()[0].tolist():
                point = self._points[int(seats[position])]
                inside[position] = point is not None and circle.contains(point)
        return inside

    def _inside_any(self, seats: Rows, geofence: Area) -> NDArray[np.bool_]:
        points = [self._points[seat] for seat in seats.tolist()]
        known = np.array([point is not None for point in points], dtype=np.bool_)
        places = [(point.lat, point.lon) for point in points if point is not None]
        if places:
            lats, lons = np.array(places).T
            known[known] = geofence.contains_many(lats, lons)
        return known

    def _new_seat(self) -> int:
        seat = len(self._points)
        self._points.append(None)
        if seat == len(self._vectors):
            more = np.full((seat // 2, 4), np.nan)
            self._vectors = np.concatenate([self._vectors, more])
        return seat

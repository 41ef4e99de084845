"""Sheets: the circles of all fields of a layer side by side, for many places at once.

A field has a table of its own, which suits one place. Many places at once lie in as many fields,
and to ask them one by one takes longer than the tests themselves: a sheet is asked once for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonal.geo import Point, unit_vectors
from zonal.index.columns import DOUBT
from zonal.index.fields import fields_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from zonal.geo import Area
    from zonal.index.columns import Columns
    from zonal.index.fences import Pairs


class Sheet:
    """The circles of a layer as they stand in its tables now, those of a field together.

    Args:
        tables: of circles, by the keys of their fields; at least one.
        granularity: of the fields.
    """

    def __init__(self, tables: Mapping[int, Columns], granularity: float) -> None:
        self._granularity = granularity
        keys = sorted(tables)
        parts = [tables[key].columns() for key in keys]
        self._keys = np.array(keys, dtype=np.int64)
        self._counts = np.array([len(rows) for rows, _ in parts], dtype=np.intp)
        self._starts = np.cumsum(self._counts) - self._counts
        self._rows = np.concatenate([rows for rows, _ in parts])
        self._table = np.concatenate([table for _, table in parts], axis=1)

    def containing(
        self, lats: NDArray[np.float64], lons: NDArray[np.float64], area_of: Callable[[int], Area]
    ) -> Pairs:
        """The rows of the circles that contain each of many places."""
        keys = fields_at(lats, lons, self._granularity)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        known = (self._keys[at] == keys).nonzero()[0]
        at = at[known]
        counts = self._counts[at]
        # For every circle of a place's field a pair: which place, and which column of the sheet.
        ends = np.cumsum(counts)
        places = known.repeat(counts)
        columns = (self._starts[at] - ends + counts).repeat(counts)
        columns += np.arange(len(columns))
        side = self._table[3].take(columns)
        for axis, of_places in zip(self._table, unit_vectors(lats, lons), strict=False):
            side += axis.take(columns) * of_places.take(places)
        possible = (side >= -DOUBT).nonzero()[0]
        places, rows, side = places[possible], self._rows[columns[possible]], side[possible]
        if not (side > DOUBT).all():
            keep = side > DOUBT
            for pair in (~keep).nonzero()[0].tolist():
                number = places[pair]
                point = Point(float(lats[number]), float(lons[number]))
                keep[pair] = area_of(int(rows[pair])).contains(point)
            places, rows = places[keep], rows[keep]
        return places, rows

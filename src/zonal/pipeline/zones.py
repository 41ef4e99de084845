"""Zones: named polygons, from a user's GeoJSON, that find the zone of many points at a time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from shapely import validation

from zonal.errors import DeclarationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

_UNSURE = -2
_SIDE = 512


class _Raster:
    """The answer for whole fields of a grid; only fields that an edge crosses need the exact test.

    With 88 neighbourhoods of Milano this leaves one point in fifteen to be tested.
    """

    def __init__(self, west: float, south: float, width: float, height: float) -> None:
        self._west, self._south = west, south
        self._width, self._height = width / _SIDE, height / _SIDE
        self._fields = np.full((_SIDE, _SIDE), -1, dtype=np.int64)

    def mark_edges(self, shape: Any) -> None:
        """Make every field that an edge may touch unsure."""
        fine = shapely.segmentize(shape, min(self._width, self._height))
        rings, ring = shapely.get_coordinates(
            shapely.get_rings(shapely.get_parts(fine)), return_index=True
        )
        # One field around each piece, so that rounding never leaves an edge out.
        columns, rows = self._field_of(rings[:, 0], rings[:, 1])
        same = ring[:-1] == ring[1:]
        low = np.stack([np.minimum(rows[:-1], rows[1:]), np.minimum(columns[:-1], columns[1:])])
        high = np.stack([np.maximum(rows[:-1], rows[1:]), np.maximum(columns[:-1], columns[1:])])
        for (bottom, left), (top, right) in zip(low.T[same], high.T[same], strict=True):
            self._fields[max(bottom - 1, 0) : top + 2, max(left - 1, 0) : right + 2] = _UNSURE

    def fill(
        self, test: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.int64]]
    ) -> None:
        """Answer every field that no edge touches by its centre."""
        rows, columns = np.nonzero(self._fields != _UNSURE)
        lats = (self._south + (rows + 0.5) * self._height).astype(np.float64)
        lons = (self._west + (columns + 0.5) * self._width).astype(np.float64)
        self._fields[rows, columns] = test(lats, lons)

    def look_up(self, lats: NDArray[np.float64], lons: NDArray[np.float64]) -> NDArray[np.int64]:
        columns, rows = self._field_of(lons, lats)
        inside = (columns >= 0) & (columns < _SIDE) & (rows >= 0) & (rows < _SIDE)
        found = self._fields[np.where(inside, rows, 0), np.where(inside, columns, 0)]
        # Just outside the grid lies, by rounding, also its own edge.
        rim = (columns >= -1) & (columns <= _SIDE) & (rows >= -1) & (rows <= _SIDE)
        return np.where(inside, found, np.where(rim, _UNSURE, -1))

    def _field_of(
        self, lons: NDArray[np.float64], lats: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        with np.errstate(invalid="ignore"):
            columns = np.floor((lons - self._west) / self._width)
            rows = np.floor((lats - self._south) / self._height)
        return _whole(columns), _whole(rows)


def _whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Field numbers; far away, and a place that is not a number, is outside the grid."""
    return np.clip(np.nan_to_num(values, nan=-9.0), -9, _SIDE + 9).astype(np.int64)


@dataclass(frozen=True)
class Zones:
    """Named polygons; where they overlap (or share an edge), the first one holds the point."""

    names: tuple[str, ...]
    shapes: tuple[bytes, ...]
    """Well-known binary, longitude first."""

    def __reduce__(self) -> tuple[type[Zones], tuple[Any, ...]]:
        # Workers build their own tree: it is quicker than moving it.
        return Zones, (self.names, self.shapes)

    @cached_property
    def geometries(self) -> NDArray[Any]:
        """The polygons."""
        return np.array([shapely.from_wkb(shape) for shape in self.shapes], dtype=object)

    def locate(self, lats: NDArray[np.float64], lons: NDArray[np.float64]) -> NDArray[np.int64]:
        """The index of the zone of each point, −1 where there is none; edges are inside."""
        found = self._raster.look_up(lats, lons)
        unsure = np.flatnonzero(found == _UNSURE)
        found[unsure] = self._test(lats[unsure], lons[unsure])
        return found

    def _test(self, lats: NDArray[np.float64], lons: NDArray[np.float64]) -> NDArray[np.int64]:
        """Each point against the zones whose bounding box holds it."""
        found = np.full(len(lats), -1, dtype=np.int64)
        for index, (shape, bounds) in enumerate(zip(self.geometries, self._bounds, strict=True)):
            west, south, east, north = bounds
            near = (lons >= west) & (lons <= east) & (lats >= south) & (lats <= north)
            near = np.flatnonzero(near & (found < 0))
            inside = shapely.intersects_xy(shape, lons[near], lats[near])
            found[near[inside]] = index
        return found

    @cached_property
    def _bounds(self) -> NDArray[np.float64]:
        shapely.prepare(self.geometries)
        bounds: NDArray[np.float64] = shapely.bounds(self.geometries)
        return bounds

    @cached_property
    def _raster(self) -> _Raster:
        west, south = self._bounds[:, :2].min(axis=0)
        east, north = self._bounds[:, 2:].max(axis=0)
        raster = _Raster(west, south, max(east - west, 1e-9), max(north - south, 1e-9))
        for shape in self.geometries:
            raster.mark_edges(shape)
        raster.fill(self._test)
        return raster

    @classmethod
    def from_geojson(
        cls, content: Mapping[str, Any], *, name: str | None = None, repair: bool = False
    ) -> Zones:
        """Read a FeatureCollection of polygons; `name` is the property that names a zone.

        An invalid polygon is an error that names every such zone, unless `repair` mends them.
        """
        features = content.get("features") if content.get("type") == "FeatureCollection" else None
        if not features:
            raise DeclarationError("zones are a GeoJSON FeatureCollection with features")
        names = _names(features, name)
        shapes = [_shape(feature, label) for feature, label in zip(features, names, strict=True)]
        wrong = [
            f"{label} ({validation.explain_validity(shape)})"
            for label, shape in zip(names, shapes, strict=True)
            if not shape.is_valid
        ]
        if wrong and not repair:
            raise DeclarationError(f"invalid polygon in {len(wrong)} zones: {'; '.join(wrong)}")
        mended = [shape if shape.is_valid else shapely.make_valid(shape) for shape in shapes]
        return cls(names, tuple(shapely.to_wkb(shape) for shape in mended))

    @classmethod
    def from_file(cls, path: str | Path, *, name: str | None = None, repair: bool = False) -> Zones:
        """Read a GeoJSON file."""
        try:
            content = json.loads(Path(path).read_text())
        except (OSError, ValueError) as error:
            raise DeclarationError(f"{path} cannot be read as GeoJSON: {error}") from error
        return cls.from_geojson(content, name=name, repair=repair)


def _names(features: list[Any], name: str | None) -> tuple[str, ...]:
    labels = []
    for number, feature in enumerate(features):
        properties = feature.get("properties") or {}
        if name is not None and name not in properties:
            raise DeclarationError(
                f"zone {number} has no property {name!r}; it has {', '.join(properties) or 'none'}"
            )
        label = properties.get(name) if name else properties.get("name", feature.get("id", number))
        labels.append(str(label))
    doubled = {label for label in labels if labels.count(label) > 1}
    if doubled:
        raise DeclarationError(f"several zones are called {min(doubled)!r}: name them apart")
    return tuple(labels)


def _shape(feature: Mapping[str, Any], label: str) -> Any:
    geometry = feature.get("geometry") or {}
    if geometry.get("type") not in {"Polygon", "MultiPolygon"}:
        raise DeclarationError(f"zone {label} is a {geometry.get('type')}, not a polygon")
    try:
        shape = shapely.from_geojson(json.dumps(geometry))
    except (shapely.errors.ShapelyError, ValueError) as error:
        raise DeclarationError(f"zone {label} cannot be read: {error}") from error
    west, south, east, north = shape.bounds
    if not (-180 <= west <= east <= 180 and -90 <= south <= north <= 90):
        raise DeclarationError(
            f"zone {label} reaches from ({south}, {west}) to ({north}, {east}): GeoJSON is in "
            "degrees, longitude first"
        )
    return shape

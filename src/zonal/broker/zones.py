"""The operator's named zones, from a GeoJSON file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from zonal.errors import ConfigurationError, GeometryError
from zonal.geo import area_from_geojson

if TYPE_CHECKING:
    from pathlib import Path

    from zonal.geo import Area


def read_zones(path: Path) -> dict[str, Area]:
    """The areas of a feature collection, by their property `name`."""
    try:
        features = json.loads(path.read_text())["features"]
        zones: dict[str, Area] = {}
        for feature in features:
            name = feature["properties"]["name"]
            if not isinstance(name, str) or name in zones:
                raise ConfigurationError(f"{path}: {name!r} is no name of one zone")
            zones[name] = area_from_geojson(feature["geometry"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, ConfigurationError):
            raise
        what = error if isinstance(error, GeometryError | OSError) else "features need geometry"
        raise ConfigurationError(
            f"{path} is no GeoJSON collection of features with a property name: {what}"
        ) from error
    return zones

"""Districts of the city, as GeoJSON: a centre and two rings, cut into sectors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from zonal.geo import destination
from zonal.web.demo.streets import CENTRE, RADIUS_M

if TYPE_CHECKING:
    from pathlib import Path

_NAMES = ("North", "North-east", "South-east", "South", "South-west", "North-west")
_INNER_M, _MIDDLE_M, _OUTER_M = 1_500.0, 3_700.0, RADIUS_M + 400.0
_STEP_DEG = 5


def districts() -> dict[str, Any]:
    """A FeatureCollection; the property `zone` names a district."""
    features = [_feature("Centre", _arc(_INNER_M, 0, 360))]
    width = 360 // len(_NAMES)
    for number, name in enumerate(_NAMES):
        start = number * width - width // 2
        outer = f"Outer {name.lower()}"
        for zone, near, far in ((name, _INNER_M, _MIDDLE_M), (outer, _MIDDLE_M, _OUTER_M)):
            outline = [*_arc(far, start, start + width), *_arc(near, start + width, start)]
            features.append(_feature(zone, [*outline, outline[0]]))
    return {"type": "FeatureCollection", "features": features}


def write_districts(folder: Path) -> Path:
    """The districts as a file, for the map and for Spark."""
    path = folder / "districts.geojson"
    path.write_text(json.dumps(districts()))
    return path


def _arc(radius_m: float, start_deg: int, end_deg: int) -> list[list[float]]:
    step = _STEP_DEG if end_deg > start_deg else -_STEP_DEG
    points = [
        destination(CENTRE, bearing % 360, radius_m)
        for bearing in range(start_deg, end_deg + step, step)
    ]
    return [[round(point.lon, 6), round(point.lat, 6)] for point in points]


def _feature(name: str, ring: list[list[float]]) -> dict[str, Any]:
    return {
        "type": "Feature",
        "properties": {"zone": name, "name": name},
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }

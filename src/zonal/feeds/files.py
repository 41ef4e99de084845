"""Files of things that moved: GeoJSON, CSV and GPX; the last by gpxpy."""

from __future__ import annotations

import csv
import io
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from zonal.errors import FeedError
from zonal.feeds.observation import (
    Observation,
    chunk,
    known,
    moment_of,
    number_or_text,
    place_of,
    read_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LAT = ("lat", "latitude", "y")
_LON = ("lon", "long", "lng", "longitude", "x")
_TIME = ("time", "timestamp", "datetime", "date_time", "recorded_at")
_NAME = ("id", "name", "vehicle", "vehicle_id", "device", "sensor", "mmsi", "icao24")


def read_geojson(data: bytes) -> Iterator[Observation]:
    """Points by `id` and `time`, and lines whose `coordTimes` say when each point was passed."""
    whole = read_json(data, "the file")
    features = whole.get("features", [whole]) if isinstance(whole, dict) else None
    if features is None:
        raise FeedError("GeoJSON is an object, such as a FeatureCollection")
    for number, feature in enumerate(features):
        said = dict(feature.get("properties") or {})
        if feature.get("id") is not None:
            said.setdefault("id", feature["id"])
        geometry = feature.get("geometry") or {}
        kind, points = geometry.get("type"), geometry.get("coordinates") or ()
        times = said.pop("coordTimes", ())
        if kind == "Point":
            points, times = [points], [_first(said, _TIME)]
        elif kind != "LineString":
            continue
        for (lon, lat, *_), when in zip_longest(points, times[: len(points)]):
            yield _named(said, number, place_of(lat, lon), when)


def read_csv(data: bytes) -> Iterator[Observation]:
    """Rows with a latitude and a longitude; other columns are what was seen."""
    try:
        rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        raise FeedError(f"the file is no UTF-8: {error}") from error
    columns = {name.strip().lower(): name for name in rows.fieldnames or ()}
    lat, lon = _first(columns, _LAT), _first(columns, _LON)
    if lat is None or lon is None:
        raise FeedError(
            f"the columns {', '.join(columns)} hold no place: name them lat and lon, or alike"
        )
    for number, row in enumerate(rows):
        said = {
            name: number_or_text(row[column])
            for name, column in columns.items()
            if column not in {lat, lon}
        }
        yield _named(said, number, place_of(row[lat], row[lon]), _first(said, _TIME))


def read_gpx(data: bytes) -> Iterator[Observation]:
    """Track points and way points, by the names of their tracks."""
    import gpxpy
    import gpxpy.gpx

    try:
        gpx = gpxpy.parse(data)
    except (gpxpy.gpx.GPXException, ValueError) as error:
        raise FeedError(f"no GPX: {error}") from error
    for number, track in enumerate(gpx.tracks):
        for segment in track.segments:
            for point in segment.points:
                said = known(name=track.name or f"track-{number}", elevation_m=point.elevation)
                yield _named(said, number, place_of(point.latitude, point.longitude), point.time)
    for number, way in enumerate(gpx.waypoints):
        said = known(name=way.name or f"point-{number}", elevation_m=way.elevation)
        yield _named(said, number, place_of(way.latitude, way.longitude), way.time)


def _named(said: Mapping[str, Any], number: int, place: Any, when: Any) -> Observation:
    name = _first(said, _NAME)
    told = when if hasattr(when, "tzinfo") else moment_of(when)
    value = {key: each for key, each in said.items() if key not in _TIME}
    name = str(number if name is None else name)
    return Observation(chunk(name), place, {"id": name, **value}, told)


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((given[name] for name in names if given.get(name) not in (None, "")), None)

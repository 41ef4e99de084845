"""GTFS-realtime: the vehicles of an agency, by route; parsed by gtfs-realtime-bindings."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonal.errors import FeedError
from zonal.feeds.observation import Observation, chunk, known, moment_of, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def read_vehicles(data: bytes, routes: Mapping[str, str] | None = None) -> Iterator[Observation]:
    """The vehicles of a feed message, each under `route/vehicle`.

    Those without a place are left out. `routes` are names by the agency's identifiers (see
    `read_routes`).
    """
    from google.protobuf.message import DecodeError
    from google.transit import gtfs_realtime_pb2

    try:
        feed = gtfs_realtime_pb2.FeedMessage.FromString(data)
    except DecodeError as error:
        raise FeedError(f"no GTFS-realtime feed: {error}") from error
    for entity in feed.entity:
        if entity.HasField("vehicle"):
            seen = _seen(entity.vehicle, entity.id, routes or {}, feed.header.timestamp)
            if seen.place is not None:
                yield seen


def _seen(vehicle: Any, entity: str, routes: Mapping[str, str], sent: int) -> Observation:
    route, where = vehicle.trip.route_id, vehicle.position
    name = vehicle.vehicle.id or vehicle.vehicle.label or entity
    value = known(
        id=name,
        kind="vehicle",
        route=routes.get(route, route),
        trip=vehicle.trip.trip_id,
        label=vehicle.vehicle.label,
        heading=where.bearing if where.HasField("bearing") else None,
        speed_m_s=where.speed if where.HasField("speed") else None,
        stop=vehicle.stop_id,
    )
    return Observation(
        f"{chunk(routes.get(route, route) or 'no-route')}/{chunk(name)}",
        place_of(where.latitude, where.longitude),
        value,
        moment_of(vehicle.timestamp or sent or None),
    )


def read_routes(path: Path) -> dict[str, str]:
    """The short (else long) names of routes: from `routes.txt`, or a GTFS archive that holds it."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                text = archive.read("routes.txt").decode("utf-8-sig")
        else:
            text = Path(path).read_text(encoding="utf-8-sig")
        rows = csv.DictReader(io.StringIO(text))
        return {
            row["route_id"]: row.get("route_short_name") or row.get("route_long_name") or ""
            for row in rows
        }
    except (OSError, KeyError, UnicodeDecodeError, zipfile.BadZipFile) as error:
        raise FeedError(f"no routes in {path}: {error}") from error

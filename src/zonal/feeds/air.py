"""Air quality stations: Sensor.Community and OpenAQ, as their interfaces write JSON."""

from __future__ import annotations

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
    from collections.abc import Iterator

_MEASURES = {"P1": "pm10", "P2": "pm2_5"}


def read_sensor_community(data: bytes) -> Iterator[Observation]:
    """The readings of Sensor.Community's `data.json`, each under `country/sensor`."""
    readings = read_json(data, "the answer of Sensor.Community")
    if not isinstance(readings, list):
        raise FeedError("the answer of Sensor.Community is a list of readings; this is none")
    for reading in readings:
        where, sensor = reading.get("location") or {}, reading.get("sensor") or {}
        place = place_of(where.get("latitude"), where.get("longitude"))
        if place is None:
            continue
        value: dict[str, Any] = known(
            id=str(sensor.get("id", "")),
            kind="sensor",
            sensor=(sensor.get("sensor_type") or {}).get("name"),
        )
        for each in reading.get("sensordatavalues") or ():
            name = str(each.get("value_type"))
            value[_MEASURES.get(name, name)] = number_or_text(each.get("value"))
        yield Observation(
            f"{chunk(where.get('country') or 'unknown').lower()}/{chunk(sensor.get('id'))}",
            place,
            value,
            moment_of(reading.get("timestamp")),
        )


def read_openaq(data: bytes) -> Iterator[Observation]:
    """The latest values of OpenAQ's interface (version 3), each under `location/sensor`."""
    answer = read_json(data, "the answer of OpenAQ")
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list):
        raise FeedError("the answer of OpenAQ has a list `results`; this has none")
    for result in results:
        where = result.get("coordinates") or {}
        place = place_of(where.get("latitude"), where.get("longitude"))
        if place is None:
            continue
        location, sensor = result.get("locationsId"), result.get("sensorsId")
        value = known(id=str(sensor), kind="sensor", station=location, value=result.get("value"))
        told = result.get("datetime") or {}
        yield Observation(
            f"{chunk(location)}/{chunk(sensor)}", place, value, moment_of(told.get("utc"))
        )

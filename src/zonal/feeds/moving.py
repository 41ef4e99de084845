"""Aircraft (ADS-B) and ships (AIS), in the JSON that receivers and their networks write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from zonal.errors import FeedError
from zonal.feeds.observation import Observation, chunk, known, moment_of, place_of, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

_KNOT_M_S = 1852 / 3600
_FOOT_M = 0.3048


def read_aircraft(data: bytes) -> Iterator[Observation]:
    """Aircraft by their 24-bit address: OpenSky's `states`, or `aircraft.json` of readsb."""
    answer = read_json(data, "the list of aircraft")
    if not isinstance(answer, dict) or not ("states" in answer or "aircraft" in answer):
        raise FeedError("a list of aircraft has `states` (OpenSky) or `aircraft` (readsb)")
    found = [_of_opensky(state) for state in answer.get("states") or ()]
    found += [_of_readsb(each, answer.get("now")) for each in answer.get("aircraft") or ()]
    return (each for each in found if each is not None and each.place is not None)


def _of_opensky(state: list[Any]) -> Observation | None:
    if len(state) < 11:
        return None
    address, callsign, _, seen, contact, lon, lat, altitude, ground, speed, track = state[:11]
    value = known(
        id=address,
        kind="aircraft",
        callsign=(callsign or "").strip(),
        altitude_m=altitude,
        on_ground=ground,
        speed_m_s=speed,
        heading=track,
    )
    return Observation(chunk(address), place_of(lat, lon), value, moment_of(seen or contact))


def _of_readsb(each: dict[str, Any], now: float | None) -> Observation:
    altitude, speed = each.get("alt_baro"), each.get("gs")
    value = known(
        id=each.get("hex"),
        kind="aircraft",
        callsign=(each.get("flight") or "").strip(),
        altitude_m=round(altitude * _FOOT_M) if isinstance(altitude, int | float) else None,
        on_ground=True if altitude == "ground" else None,
        speed_m_s=None if speed is None else round(speed * _KNOT_M_S, 1),
        heading=each.get("track"),
    )
    seen = None if now is None else now - float(each.get("seen_pos") or 0)
    place = place_of(each.get("lat"), each.get("lon"))
    return Observation(chunk(each.get("hex")), place, value, moment_of(seen))


def read_ships(data: bytes) -> Iterator[Observation]:
    """Ships by their MMSI: one JSON object a line (AIS-catcher, aisstream), or GeoJSON features."""
    for record in _records(data):
        if (seen := _ship(record)) is not None and seen.place is not None:
            yield seen


def _records(data: bytes) -> Iterator[dict[str, Any]]:
    try:
        whole = json.loads(data)
    except ValueError:
        for line in filter(None, map(bytes.strip, data.splitlines())):
            yield read_json(line, "a line of ships")
        return
    if isinstance(whole, dict):
        whole = whole.get("features") or [whole]
    yield from whole


def _ship(record: dict[str, Any]) -> Observation | None:
    """AIS-catcher's flat record, a GeoJSON feature, or aisstream's message with its meta data."""
    said = dict(record)
    said |= record.get("properties") or {}
    said |= (record.get("Message") or {}).get("PositionReport") or {}
    said |= record.get("MetaData") or {}
    said = {name.lower(): value for name, value in said.items()}
    lon, lat = (said.get("geometry") or {}).get("coordinates") or (
        said.get("lon", said.get("longitude")),
        said.get("lat", said.get("latitude")),
    )
    if said.get("mmsi") is None:
        return None
    speed = said.get("sog", said.get("speed"))
    value = known(
        id=str(said["mmsi"]),
        kind="ship",
        name=str(said.get("shipname") or "").strip(),
        speed_m_s=None if speed is None else round(float(speed) * _KNOT_M_S, 2),
        heading=said.get("cog", said.get("course")),
    )
    told = said.get("timestampexternal") or said.get("rxtime") or said.get("time_utc")
    return Observation(chunk(said["mmsi"]), place_of(lat, lon), value, moment_of(told))

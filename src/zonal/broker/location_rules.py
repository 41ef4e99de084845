"""Rules that take places from payloads, for devices that know nothing of user properties."""

from __future__ import annotations

import json
import logging
import tomllib
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from zonal.broker.payload_formats import (
    Condition,
    Path,
    follow,
    from_geojson,
    from_nmea,
    place,
    read_path,
    sparkplug_metrics,
)
from zonal.broker.topics import matches, valid_filter
from zonal.errors import ConfigurationError, GeometryError

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Sequence

    from zonal.broker.counters import BrokerCounters
    from zonal.geo import Point

logger = logging.getLogger(__name__)

LONGEST_PAYLOAD = 65_536
"""Bytes; longer payloads are not looked into."""
KEPT_TOPICS = 20_000
KEPT_DEVICES = 10_000
KEYS = {"topic", "format", "latitude", "longitude", "geometry", "condition", "client"}
LORAWAN = {"client": False}
"""The client is a network server: the place is a device's, not its own."""

PRESETS: dict[str, list[dict[str, Any]]] = {
    "owntracks": [
        {"topic": "owntracks/+/+", "latitude": "$.lat", "longitude": "$.lon",
         "condition": "$._type == 'location'"},
    ],
    "tasmota": [
        {"topic": "tele/+/SENSOR", "latitude": ["$.GPS.lat", "$.GPS.latitude"],
         "longitude": ["$.GPS.lon", "$.GPS.longitude"], "condition": "$.GPS"},
    ],
    "chirpstack": [
        {"topic": "application/+/device/+/event/location", "latitude": "$.location.latitude",
         "longitude": "$.location.longitude", **LORAWAN},
        {"topic": "application/+/device/+/event/up", "condition": "$.object",
         "latitude": ["$.object.latitude", "$.object.lat",
                      "$.object.gpsLocation['1'].latitude"],
         "longitude": ["$.object.longitude", "$.object.lon", "$.object.lng",
                       "$.object.gpsLocation['1'].longitude"], **LORAWAN},
    ],
    "ttn": [
        {"topic": "v3/+/devices/+/location/solved",
         "latitude": "$.location_solved.location.latitude",
         "longitude": "$.location_solved.location.longitude", **LORAWAN},
        {"topic": "v3/+/devices/+/up", "condition": "$.uplink_message",
         "latitude": ["$.uplink_message.locations['frm-payload'].latitude",
                      "$.uplink_message.decoded_payload.latitude",
                      "$.uplink_message.decoded_payload.lat",
                      "$.uplink_message.locations.user.latitude"],
         "longitude": ["$.uplink_message.locations['frm-payload'].longitude",
                       "$.uplink_message.decoded_payload.longitude",
                       "$.uplink_message.decoded_payload.lon",
                       "$.uplink_message.locations.user.longitude"], **LORAWAN},
    ],
    "sparkplug": [
        {"topic": "spBv1.0/#", "format": "sparkplug", "latitude": "Latitude",
         "longitude": "Longitude"},
    ],
}  # fmt: skip
"""What devices send that many people have; each can be named under `presets`."""


class Found(NamedTuple):
    """A place that a rule has found in a payload."""

    location: Point
    moves_client: bool


@dataclass(slots=True, kw_only=True)
class LocationRule:
    """One rule: the topics it is for, and how their payloads say a place."""

    topic: str
    read: Callable[[str, bytes], Point | None]
    moves_client: bool


class LocationRules:
    """The rules of a broker, asked with each message whose topic has some.

    Of several rules for a topic the first that finds a place counts.
    """

    def __init__(self, rules: Sequence[LocationRule] = ()) -> None:
        self._rules = tuple(rules)
        self._by_topic: dict[str, tuple[LocationRule, ...]] = {}

    def apply_to(self, topic: str) -> tuple[LocationRule, ...]:
        """The rules of a topic."""
        if not self._rules:
            return ()
        found = self._by_topic.get(topic)
        if found is None:
            found = tuple(rule for rule in self._rules if matches(rule.topic, topic))
            if len(self._by_topic) >= KEPT_TOPICS:
                self._by_topic.clear()
            self._by_topic[topic] = found
        return found

    def find(self, topic: str, payload: bytes, counters: BrokerCounters) -> Found | None:
        """The place that a payload says; a payload that cannot be read is counted and passed on."""
        for rule in self.apply_to(topic):
            if len(payload) > LONGEST_PAYLOAD:
                continue
            try:
                location = rule.read(topic, payload)
            except (ValueError, RecursionError) as error:
                counters.unread_locations += 1
                logger.debug("no place in a payload on %r: %s", topic[:80], error)
                continue
            if location is not None:
                return Found(location, rule.moves_client)
        return None


@dataclass(slots=True)
class JsonReader:
    """Latitude and longitude at paths in a JSON document; of several the first that is there."""

    latitudes: tuple[Path, ...]
    longitudes: tuple[Path, ...]
    condition: Condition | None

    def __call__(self, _: str, payload: bytes) -> Point | None:
        """The place in a payload."""
        document = json.loads(payload)
        if self.condition is not None and not self.condition.holds(document):
            return None
        return place(first(self.latitudes, document), first(self.longitudes, document))


@dataclass(slots=True)
class GeoJsonReader:
    """A GeoJSON point at a path in a JSON document."""

    path: Path
    condition: Condition | None

    def __call__(self, _: str, payload: bytes) -> Point | None:
        """The place in a payload."""
        document = json.loads(payload)
        if self.condition is not None and not self.condition.holds(document):
            return None
        return from_geojson(follow(self.path, document))


@dataclass(slots=True)
class DeviceMetrics:
    """What a Sparkplug device has said: the names behind its aliases, its last coordinates."""

    aliases: dict[int, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class SparkplugReader:
    """Two metrics of a Sparkplug B device, which reports each only when it changes."""

    latitude: str
    longitude: str
    devices: OrderedDict[str, DeviceMetrics] = field(default_factory=OrderedDict)

    def __call__(self, topic: str, payload: bytes) -> Point | None:
        """The place after this payload; None where it is about other metrics."""
        levels = topic.split("/")
        if len(levels) < 4 or levels[2] not in {"NBIRTH", "DBIRTH", "NDATA", "DDATA"}:
            return None
        # A node's aliases are its devices' too, so they are kept by node.
        device = self._device("/".join((levels[1], *levels[3:4])))
        known, prefix = False, "/".join(levels[4:])
        for name, alias, value in sparkplug_metrics(payload):
            if name is not None and alias is not None and name in {self.latitude, self.longitude}:
                device.aliases[alias] = name
            named = name or device.aliases.get(alias or 0)
            if named in {self.latitude, self.longitude} and value is not None:
                device.values[f"{prefix}:{named}"] = value
                known = True
        if not known:
            return None
        values = device.values
        return place(values.get(f"{prefix}:{self.latitude}"),
                     values.get(f"{prefix}:{self.longitude}"))  # fmt: skip

    def _device(self, name: str) -> DeviceMetrics:
        device = self.devices.setdefault(name, DeviceMetrics())
        self.devices.move_to_end(name)
        if len(self.devices) > KEPT_DEVICES:
            self.devices.popitem(last=False)
        return device


def first(paths: tuple[Path, ...], document: Any) -> Any:
    """What stands at the first path where something does."""
    return next((found for path in paths if (found := follow(path, document)) is not None), None)


def read_location_rules(path: pathlib.Path) -> LocationRules:
    """Rules from a TOML file: `presets = [names]` and `[[locations]]` tables."""
    try:
        document = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path}: {error}") from error
    unknown = set(document) - {"presets", "locations"}
    if unknown:
        raise ConfigurationError(f"{path}: {sorted(unknown)} are neither presets nor locations")
    presets, written = document.get("presets", []), document.get("locations", [])
    if not isinstance(presets, list) or not isinstance(written, list):
        raise ConfigurationError(f"{path}: presets are a list of names, [[locations]] tables")
    tables = list(written)
    for name in presets:
        if name not in PRESETS:
            known = ", ".join(PRESETS)
            raise ConfigurationError(f"{path}: there is no preset {name!r}, only {known}")
        tables += PRESETS[name]
    return LocationRules([_rule(path, table) for table in tables])


def _rule(path: pathlib.Path, table: Any) -> LocationRule:
    """One rule; raises `ConfigurationError` with what is wrong."""
    topic = table.get("topic") if isinstance(table, dict) else None
    if not isinstance(topic, str) or not valid_filter(topic, 128):
        raise ConfigurationError(f"{path}: a rule needs a topic filter as its topic, not {topic!r}")
    unknown = set(table) - KEYS
    if unknown:
        raise ConfigurationError(f"{path}: {sorted(unknown)} are not among {sorted(KEYS)}")
    try:
        return LocationRule(
            topic=topic, read=_reader(table), moves_client=bool(table.get("client", True))
        )
    except (KeyError, TypeError, ValueError, GeometryError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else error
        raise ConfigurationError(f"{path}: the rule for {topic!r}: {what}") from error


def _reader(table: dict[str, Any]) -> Callable[[str, bytes], Point | None]:
    kind = table.get("format", "json")
    condition = Condition(table["condition"]) if "condition" in table else None
    if kind == "json":
        return JsonReader(_paths(table["latitude"]), _paths(table["longitude"]), condition)
    if kind == "geojson":
        return GeoJsonReader(read_path(table.get("geometry", "$")), condition)
    if condition is not None:
        raise ValueError(f"a condition is about JSON, not {kind}")
    if kind == "nmea":
        return lambda _, payload: from_nmea(payload)
    if kind == "sparkplug":
        return SparkplugReader(table["latitude"], table["longitude"])
    raise ValueError(f"format {kind!r} is none of json, geojson, nmea, sparkplug")


def _paths(written: str | list[str]) -> tuple[Path, ...]:
    return tuple(read_path(text) for text in ([written] if isinstance(written, str) else written))

"""Zones: areas with names, as users have them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from zonal.errors import FenceError
from zonal.geo import Area, GivenArea, area_from_geojson, as_area, together, widened

if TYPE_CHECKING:
    from collections.abc import Iterator

GivenZones: TypeAlias = "ZoneSet | GivenArea | Mapping[str, GivenArea]"
"""Zones; one area; areas by name; or a GeoJSON `FeatureCollection`, whose features are zones."""

NAMES = ("zone", "name", "id")
"""The properties of a GeoJSON feature that may name it; the first that it has does."""


@dataclass(frozen=True, slots=True)
class ZoneSet:
    """Some areas and their names; they may overlap, and each is a zone of its own."""

    names: tuple[str | None, ...]
    areas: tuple[Area, ...]

    def __post_init__(self) -> None:
        if not self.areas or len(self.names) != len(self.areas):
            raise FenceError(f"{len(self.names)} names and {len(self.areas)} areas are no zones")
        if len(set(self.names)) != len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise FenceError(f"two zones are named {twice!r}")
        if len(self.areas) > 1 and any(area.is_ego_centric for area in self.areas):
            raise FenceError("a circle without a centre is watched alone, without other zones")

    @classmethod
    def given(cls, given: GivenZones, name: str | None = None) -> ZoneSet:
        """The zones that were meant; `name` is the property that names features."""
        match given:
            case ZoneSet():
                return given
            case Mapping() if given.get("type") == "FeatureCollection":
                return cls._of_features(given, name)
            case Mapping() if "type" not in given:
                return cls(tuple(given), tuple(as_area(area) for area in given.values()))
        return cls((None,), (as_area(given),))

    @classmethod
    def from_geojson(cls, text: str, name: str | None = None) -> ZoneSet:
        """The zones of a GeoJSON text: a collection's features, or one area."""
        try:
            content = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise FenceError(f"cannot read zones as GeoJSON: {error}") from error
        return cls.given(content, name)

    @classmethod
    def _of_features(cls, collection: Mapping[str, Any], name: str | None) -> ZoneSet:
        features = collection.get("features")
        if not isinstance(features, list) or not features:
            raise FenceError("zones are a GeoJSON FeatureCollection with at least one feature")
        names = tuple(_name_of(each, number, name) for number, each in enumerate(features, 1))
        return cls(names, tuple(area_from_geojson(each) for each in features))

    def __len__(self) -> int:
        return len(self.areas)

    def __iter__(self) -> Iterator[tuple[str | None, Area]]:
        return iter(zip(self.names, self.areas, strict=True))

    @property
    def is_ego_centric(self) -> bool:
        """Whether the one zone follows whoever watches it."""
        return self.areas[0].is_ego_centric

    def within(self, metres: float) -> Area:
        """One area that contains all that is within so many metres of a zone."""
        return together(widened(area, metres) for area in self.areas)


def _name_of(feature: Any, number: int, name: str | None) -> str:
    if not isinstance(feature, Mapping):
        raise FenceError(f"feature {number} of the zones is no GeoJSON feature")
    properties = feature.get("properties") or {}
    if name is not None and name not in properties:
        raise FenceError(f"feature {number} of the zones has no property {name!r}")
    for each in (name,) if name is not None else NAMES:
        if properties.get(each) is not None:
            return str(properties[each])
    return str(feature.get("id", number))

"""The zones of MGRS: 6° of longitude wide and 8° of latitude high, with exceptions, and polar ones.

In a zone places have an easting and a northing in metres (UTM); what lies beside its limits by the
rounding of conversions counts to both sides.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import utm

from zonal.errors import LocationKeyError
from zonal.geo import EARTH_RADIUS_M, Box, Point

if TYPE_CHECKING:
    from collections.abc import Iterator

BANDS = "CDEFGHJKLMNPQRSTUVWX"
MARGIN_M = 2.0  # references name whole metres, and conversions round
# In wide zones the two ways of converting differ by some metres.
WIDE_MARGIN_M, WIDE_MARGIN_DEG = 20.0, 2e-4
_SAMPLES = 8
METRE_DEG = 2e-5  # two metres: the converter rounds across the limits of the grid
_SOUTHERN_M = 10_000_000  # the northing of the equator in southern zones
# Zones of another width: south-western Norway and Svalbard, as west and east in degrees.
ODD_ZONES = {
    "31V": (0.0, 3.0),
    "32V": (3.0, 12.0),
    "31X": (0.0, 9.0),
    "33X": (9.0, 21.0),
    "35X": (21.0, 33.0),
    "37X": (33.0, 42.0),
}
_POLAR_ZONES = frozenset("ABYZ")
ABSENT_ZONES = frozenset({"32X", "34X", "36X"})


class ZonePart(NamedTuple):
    """The part of an area's bounds inside one grid zone, in UTM metres (polar: all of the zone)."""

    zone: str
    easting: tuple[float, float] | None = None
    northing: tuple[float, float] | None = None

    def merged(self, other: ZonePart) -> ZonePart:
        """The range of both parts of a zone."""
        if self.easting is None or self.northing is None:
            return self
        assert other.easting is not None
        assert other.northing is not None
        return ZonePart(
            self.zone,
            (min(self.easting[0], other.easting[0]), max(self.easting[1], other.easting[1])),
            (min(self.northing[0], other.northing[0]), max(self.northing[1], other.northing[1])),
        )


def zone_at(point: Point) -> str:
    """The zone between the polar ones that the point lies in; `32T`."""
    letter = BANDS[min(len(BANDS) - 1, int((point.lat + 80.0) // 8.0))]
    for zone, (west, east) in ODD_ZONES.items():
        if zone[-1] == letter and west <= point.lon < east:
            return zone
    return f"{min(60, int((point.lon + 180.0) // 6.0) + 1)}{letter}"


def zone_parts(bounds: Box) -> Iterator[ZonePart]:
    """The zones that the bounds touch; polar ones as a whole."""
    if bounds.max_lat >= 84.0 - METRE_DEG:
        yield ZonePart("Y")
        yield ZonePart("Z")
    if bounds.min_lat <= -80.0 + METRE_DEG:
        yield ZonePart("A")
        yield ZonePart("B")
    for south, north in _band_parts(bounds):
        for west, east in _strips(bounds):
            yield _zone_part(Box(south, west, north, east))


def _band_parts(bounds: Box) -> Iterator[tuple[float, float]]:
    """The latitudes of each band that the bounds touch; band X is 12° high."""
    for number in range(len(BANDS)):
        south = -80.0 + 8.0 * number
        north = 84.0 if number == len(BANDS) - 1 else south + 8.0
        low, high = max(bounds.min_lat, south), min(bounds.max_lat, north)
        if low < high:
            yield low, high
    # Two metres beyond its limits the grid's own squares are still named.
    for limit, row in ((-80.0, (-80.0, -80.0 + METRE_DEG)), (84.0, (84.0 - METRE_DEG, 84.0))):
        if bounds.min_lat <= limit + METRE_DEG and bounds.max_lat >= limit - METRE_DEG:
            yield row


def _strips(bounds: Box) -> Iterator[tuple[float, float]]:
    """Longitudes in pieces of 3°: every boundary between zones is a multiple of it."""
    end = bounds.min_lon + bounds.width_deg
    west = 3.0 * math.floor(bounds.min_lon / 3.0)
    while west < end:
        low, high = max(bounds.min_lon, west), min(end, west + 3.0)
        if low < high:
            shift = 360.0 if low >= 180.0 else 0.0
            yield low - shift, high - shift
        west += 3.0


def _zone_part(part: Box) -> ZonePart:
    """The range of eastings and northings of a box inside one zone, a little enlarged."""
    zone = zone_at(part.center)
    shares = np.linspace(0.0, 1.0, _SAMPLES + 1)
    lats, lons = np.meshgrid(
        part.min_lat + part.height_deg * shares, part.min_lon + part.width_deg * shares
    )
    easting, northing, _, _ = utm.from_latlon(
        lats.ravel(), lons.ravel(), int(zone[:-1]), force_northern=part.center.lat >= 0
    )
    # Meridians and parallels bend between two samples by no more than this.
    step = math.radians(max(part.width_deg, part.height_deg) / _SAMPLES)
    margin = WIDE_MARGIN_M if zone in ODD_ZONES else MARGIN_M
    margin += EARTH_RADIUS_M * (step / 2) ** 2
    most = _SOUTHERN_M - 1.0 if part.center.lat < 0 else math.inf
    return ZonePart(
        zone,
        (float(easting.min()) - margin, float(easting.max()) + margin),
        (max(0.0, float(northing.min()) - margin), min(float(northing.max()) + margin, most)),
    )


def _is_zone(zone: str) -> bool:
    if not zone[:-1]:
        return zone in _POLAR_ZONES
    return zone[-1] in BANDS and 1 <= int(zone[:-1]) <= 60 and zone not in ABSENT_ZONES


def zone_box(zone: str) -> Box:
    """The latitudes and longitudes of a zone; a `LocationKeyError` where there is none."""
    letter = zone[-1]
    if not _is_zone(zone):
        raise LocationKeyError(f"there is no MGRS zone {zone!r}")
    if not zone[:-1]:
        south, north = (84.0, 90.0) if letter in "YZ" else (-90.0, -80.0)
        west, east = (-180.0, 0.0) if letter in "AY" else (0.0, 180.0)
        return Box(south, west, north, east)
    south = -80.0 + 8.0 * BANDS.index(letter)
    number = int(zone[:-1])
    west, east = ODD_ZONES.get(zone, (6.0 * number - 186.0, 6.0 * number - 180.0))
    return Box(south, west, 84.0 if letter == "X" else south + 8.0, east)

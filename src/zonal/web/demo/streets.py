"""The city's streets, generated: blocks, two diagonals, a river with few bridges, and routes."""

from __future__ import annotations

import json
import math
import random
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from zonal.geo import Point

if TYPE_CHECKING:
    from pathlib import Path

CENTRE = Point(45.4642, 9.1900)
"""The Duomo of Milano."""
RADIUS_M = 6_000.0

_BLOCK_M = 400.0
_TURNED_DEG = 12.0
_BRIDGE_EVERY = 4
"""Every fourth street that leads to the river crosses it."""
_MISSING = 0.12
"""The share of street between two crossings that was never built."""
_M_PER_DEG = 111_195.0
_STREET_M, _AVENUE_M, _RIVER_M = 18.0, 36.0, 140.0

Crossing = tuple[int, int]
Metres = tuple[float, float]
"""East and north of the centre."""


@dataclass(frozen=True, slots=True)
class Drive:
    """A way along streets, driven to its end and back, again and again."""

    places: tuple[Metres, ...]
    ends: tuple[float, ...]
    """How long the way is at each of the places, in metres."""

    def place(self, way_m: float) -> Point:
        """Where one is who has gone so far."""
        number, along, _ = self._at(way_m)
        (x, y), (to_x, to_y) = self.places[number : number + 2]
        return _point((x + along * (to_x - x), y + along * (to_y - y)))

    def heading(self, way_m: float) -> float:
        """Where one goes to then, in degrees from north."""
        number, _, is_back = self._at(way_m)
        (x, y), (to_x, to_y) = self.places[number : number + 2]
        turned = _TURNED_DEG + (180.0 if is_back else 0.0)
        return (math.degrees(math.atan2(to_x - x, to_y - y)) + turned) % 360.0

    def _at(self, way_m: float) -> tuple[int, float, bool]:
        """The piece of the way, which share of it is behind one, and whether one comes back."""
        length = self.ends[-1]
        gone = way_m % (2 * length)
        from_start = min(gone, 2 * length - gone)
        number = min(bisect_right(self.ends, from_start), len(self.ends) - 1) - 1
        start, end = self.ends[number : number + 2]
        return number, (from_start - start) / (end - start), gone > length


@dataclass(frozen=True, slots=True)
class Streets:
    """Crossings, and from each those that a street leads to."""

    from_here: dict[Crossing, tuple[Crossing, ...]]

    def route(self, chance: random.Random, length_m: float = 10_000.0) -> Drive:
        """A way by chance, straight on more often than not; no turning back but in dead ends."""
        way = [chance.choice(sorted(self.from_here))]
        ends = [0.0]
        before: Crossing | None = None
        while ends[-1] < length_m:
            here = way[-1]
            onward = [each for each in self.from_here[here] if each != before] or [before or here]
            weights = [1.0 if before is None else _straight(before, here, each) for each in onward]
            before = here
            way.append(chance.choices(onward, weights)[0])
            ends.append(ends[-1] + math.dist(_metres(here), _metres(way[-1])))
        return Drive(tuple(map(_metres, way)), tuple(ends))

    def geojson(self) -> dict[str, Any]:
        """The river, streets and avenues as lines, with their width in metres."""
        pieces: dict[bool, list[list[Metres]]] = {False: [], True: []}
        for here, others in self.from_here.items():
            for there in others:
                if here < there:
                    pieces[_is_avenue(here, there)].append([_metres(here), _metres(there)])
        across = [step * 200.0 for step in range(-40, 41)]
        river = [(x, _river(x)) for x in across if math.hypot(x, _river(x)) < RADIUS_M + 1_500.0]
        features = [
            _lines("water", _RIVER_M, [river]),
            _lines("street", _STREET_M, pieces[False]),
            _lines("street", _AVENUE_M, pieces[True]),
        ]
        return {"type": "FeatureCollection", "features": features}

    def write(self, folder: Path) -> Path:
        """The lines as a file, for the map."""
        path = folder / "streets.geojson"
        path.write_text(json.dumps(self.geojson()))
        return path


@cache
def make_streets(seed: int = 7) -> Streets:
    """The streets, the same for the same seed; from each crossing one comes to every other."""
    chance = random.Random(seed)
    reach = range(-int(RADIUS_M // _BLOCK_M), int(RADIUS_M // _BLOCK_M) + 1)
    found: dict[Crossing, set[Crossing]] = {}
    for i in reach:
        for j in reach:
            for there in ((i + 1, j), (i, j + 1), (i + 1, j + 1), (i + 1, j - 1)):
                if _is_street((i, j), there, chance):
                    found.setdefault((i, j), set()).add(there)
                    found.setdefault(there, set()).add((i, j))
    reached, todo = {(0, 0)}, [(0, 0)]
    while todo:
        new = found[todo.pop()] - reached
        reached |= new
        todo += new
    return Streets({here: tuple(sorted(found[here])) for here in sorted(reached)})


def _is_street(here: Crossing, there: Crossing, chance: random.Random) -> bool:
    if any(math.hypot(*_metres(each)) > RADIUS_M for each in (here, there)):
        return False
    is_diagonal = here[0] != there[0] and here[1] != there[1]
    if is_diagonal:
        return _is_avenue(here, there)
    (x, y), (to_x, to_y) = _metres(here), _metres(there)
    if (y > _river(x)) != (to_y > _river(to_x)):
        return here[0] == there[0] and here[0] % _BRIDGE_EVERY == 0
    return _is_avenue(here, there) or chance.random() > _MISSING


def _is_avenue(here: Crossing, there: Crossing) -> bool:
    """Those through the middle: north, east, and the two diagonals."""
    (i, j), (to_i, to_j) = here, there
    is_diagonal = (i == j and to_i == to_j) or (i == -j and to_i == -to_j)
    return is_diagonal or i == to_i == 0 or j == to_j == 0


def _straight(before: Crossing, here: Crossing, there: Crossing) -> float:
    ahead = (2 * here[0] - before[0], 2 * here[1] - before[1])
    return 4.0 if there == ahead else 1.0


def _metres(crossing: Crossing) -> Metres:
    """Where a crossing is, before the whole city is turned; blocks are a little askew."""
    i, j = crossing
    return (
        _BLOCK_M * (i + 0.2 * math.sin(0.7 * j)),
        _BLOCK_M * (j + 0.2 * math.sin(0.8 * i)),
    )


def _river(x: float) -> float:
    return -1_700.0 + 700.0 * math.sin(x / 2_000.0)


def _point(place: Metres) -> Point:
    x, y = place
    sine, cosine = math.sin(math.radians(_TURNED_DEG)), math.cos(math.radians(_TURNED_DEG))
    east, north = x * cosine + y * sine, y * cosine - x * sine
    across = _M_PER_DEG * math.cos(math.radians(CENTRE.lat))
    return Point(CENTRE.lat + north / _M_PER_DEG, CENTRE.lon + east / across)


def _lines(kind: str, width_m: float, lines: list[list[Metres]]) -> dict[str, Any]:
    points = [[_point(place) for place in line] for line in lines]
    coordinates = [[[round(each.lon, 6), round(each.lat, 6)] for each in line] for line in points]
    return {
        "type": "Feature",
        "properties": {"kind": kind, "width_m": width_m},
        "geometry": {"type": "MultiLineString", "coordinates": coordinates},
    }

"""How closely areas are covered: declared area over wanted area, whatever the machine.

Circles and boxes are seeded; districts and countries are the areas of GeoJSON files, if given. What
moves goes 16 km from five places, in steps of a hundredth of its radius.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console

from cover_sizes import declared_m2, median_and_90, size_m2
from zonal.errors import GeometryError
from zonal.geo import Box, Circle, Point, as_area, destination
from zonal.keys import area_keys, encoding_named
from zonal.session import Interest, Scope, Wish

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from zonal.geo import Area

DUOMO = Point(45.4642, 9.19)
ENCODINGS = ("s2", "mgrs")
CELLS = (1, 2, 3, 4, 5, 6, 8, 16, 32, 48)
RADIUS_M, WAY_M, TURN_EVERY_M, TURN_DEG = 2_000.0, 16_000.0, 400.0, 30.0
METRES_A_DEGREE = 111_195.0
_MOVES_A_RADIUS = 64
_MUCH = 1_000_000

console = Console(highlight=False, soft_wrap=True)


class Fit(NamedTuple):
    """What the covers of many areas come to."""

    median: float
    nine_tenths: float
    worst: float
    keys: float
    """In the mean."""

    @classmethod
    def of(cls, covers: Sequence[tuple[float, int]]) -> Fit:
        """From the ratio and the number of keys of each."""
        ratios, keys = zip(*covers, strict=True)
        return cls(*median_and_90(ratios), max(ratios), statistics.mean(keys))

    def __str__(self) -> str:
        return (
            f"{self.median:7.2f} / {self.nine_tenths:7.2f}, at most {self.worst:9.2f}; "
            f"{self.keys:.1f} keys"
        )


# Areas


def circles(number: int) -> list[Area]:
    """Circles of 100 m to 50 km, anywhere but at the poles."""
    draw = random.Random(66)
    return [Circle(_place(draw), radius_m=100.0 * 500.0 ** draw.random()) for _ in range(number)]


def boxes(number: int, longest: float) -> list[Area]:
    """Boxes whose longer side has 100 m to 50 km, at most so many times the other."""
    draw = random.Random(130)
    return [_box(_place(draw), draw, longest) for _ in range(number)]


def _place(draw: random.Random) -> Point:
    return Point(draw.uniform(-60.0, 70.0), draw.uniform(-170.0, 170.0))


def _box(middle: Point, draw: random.Random, longest: float) -> Box:
    long_m = 100.0 * 500.0 ** draw.random()
    sides_m = [long_m, long_m * longest ** -draw.random()]
    draw.shuffle(sides_m)
    high, wide = (side_m / METRES_A_DEGREE / 2 for side_m in sides_m)
    wide /= math.cos(math.radians(middle.lat))
    return Box(middle.lat - high, middle.lon - wide, middle.lat + high, middle.lon + wide)


def areas_of(path: Path) -> list[Area]:
    """The areas of a GeoJSON collection; what is none is told and left out."""
    found: list[Area] = []
    for number, feature in enumerate(json.loads(path.read_text())["features"]):
        try:
            found.append(as_area(feature["geometry"]))
        except GeometryError as error:
            console.print(f"  {path.name}: feature {number} is left out: {error}")
    return found


# Covers


def fit_in_a_session(areas: Iterable[Area], encoding: str) -> Fit:
    """Each alone on its topic, with as many keys as a session's first topics have."""
    covers = []
    for area in areas:
        interest = Interest("t", [encoding_named(encoding)])
        interest.want("it", Wish(area))
        covers.append(_cover(interest.keys(), area))
    return Fit.of(covers)


def fit_of(cells: int, areas: Iterable[Area], encoding: str) -> Fit:
    """Each with so many keys at the most."""
    kind = encoding_named(encoding)
    return Fit.of(
        [_cover(area_keys("t", area, kind, max_expressions=cells), area) for area in areas]
    )


def _cover(keys: Iterable[str], area: Area) -> tuple[float, int]:
    declared = tuple(keys)
    return declared_m2(declared) / size_m2(area), len(declared)


def fit_on_the_way(encoding: str, ways: int, *, much: bool, winding: bool) -> tuple[Fit, float]:
    """A circle that moves; how many keys for its area are new each kilometre, the first ones too.

    Where much comes from beside it, from the first radius on.
    """
    wanted_m2 = size_m2(Circle(DUOMO, radius_m=RADIUS_M))
    covers, new, metres = [], 0, 0.0
    for number in range(ways):
        way = _way(destination(DUOMO, number * 72.0, 40_000.0), number * 72.0 + 20, winding=winding)
        place = next(way)
        scope = Scope(Circle(radius_m=RADIUS_M), place, moves_a_radius=_MOVES_A_RADIUS, moves=True)
        interest = Interest("t", [encoding_named(encoding)])
        interest.want("it", scope.wish)
        keys: frozenset[str] = frozenset()
        for step, place in enumerate(way, 1):
            scope.move(place, _MUCH * step if much else 0)
            interest.want("it", scope.wish)
            declared, before = interest.keys(), keys
            keys = frozenset(key for key in declared if "/@to/" not in key)
            new += len(keys - before)
            if not much or step > 100:
                covers.append((declared_m2(keys) / wanted_m2, len(keys)))
        metres += WAY_M
    return Fit.of(covers), new / metres * 1_000


def _way(place: Point, bearing: float, *, winding: bool) -> Iterator[Point]:
    """Straight on, or turning every 400 m, two thirds of the times to one side."""
    draw = random.Random(135)
    step_m = RADIUS_M / 100
    for number in range(round(WAY_M / step_m) + 1):
        yield place
        if winding and number and number % round(TURN_EVERY_M / step_m) == 0:
            bearing += TURN_DEG if draw.random() < 2 / 3 else -TURN_DEG
        place = destination(place, bearing % 360.0, step_m)


def all_fits(areas: dict[str, list[Area]], ways: int) -> Iterator[tuple[str, Fit, float | None]]:
    """A name, how closely it is covered, and for what moves how many keys are new a kilometre."""
    for encoding in ENCODINGS:
        for kind, some in areas.items():
            yield f"{encoding}, {kind}", fit_in_a_session(some, encoding), None
        for winding in (False, True):
            for much in (True, False):
                fit, new = fit_on_the_way(encoding, ways, much=much, winding=winding)
                name = f"{'winding' if winding else 'moving'}, {'much' if much else 'little'}"
                yield f"{encoding}, {name} from beside", fit, new
        for cells in CELLS:
            name = f"{encoding}, circles of 500 m, {cells} keys at most"
            yield name, fit_of(cells, _city(), encoding), None


def _city() -> list[Area]:
    """Where `bench_session` has its thousand topics: every fifth of them."""
    return [
        Circle(destination(DUOMO, each * 37.0, 10_000 * math.sqrt(each / 1_000)), radius_m=500)
        for each in range(0, 1_000, 5)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--districts", type=Path, help="a GeoJSON collection of areas of a city")
    parser.add_argument("--countries", type=Path, help="a GeoJSON collection of countries")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of circles and boxes, one way"
    )
    options = parser.parse_args()
    number = 20 if options.quick else 200
    areas = {
        "circles": circles(number),
        "boxes": boxes(number, 2.0),
        "boxes up to a hundred times as long as wide": boxes(number, 100.0),
    }
    for kind in ("districts", "countries"):
        path: Path | None = getattr(options, kind)
        if path is None:
            print(f"{kind} are left out: --{kind} FILE names them", file=sys.stderr)
        else:
            areas[kind] = areas_of(path)
            console.print(f"  {len(areas[kind])} {kind}")
    results = {}
    for name, fit, new in all_fits(areas, 1 if options.quick else 5):
        moved = "" if new is None else f"; {new:.1f} new a km"
        console.print(f"  {name:52} {fit}{moved}")
        results[name] = fit._asdict() | ({} if new is None else {"new_a_km": new})
    print(json.dumps({"benchmark": "covers", "fits": results}))


if __name__ == "__main__":
    main()

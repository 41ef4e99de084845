"""Where the steps of many things meet many zones: which zones they end in, which they go through.

The way of a step is a straight line in longitude and latitude where it meets boxes and polygons,
whose edges are such lines, and a great circle where it meets circles; the shorter way around the
Earth. Zones beside the antimeridian or a pole are few, and asked one by one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import shapely

from zonal.geo import (
    Area,
    Circle,
    Everywhere,
    Point,
    figures_intersect,
    planar_of,
    unit_vector,
    unit_vectors,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]
    Pairs = tuple[Rows, Rows]

_ROUND = 1e-9  # degrees: more than rounding moves a box


class Steps(NamedTuple):
    """Where things are now, and where they were; not a number where that is not known."""

    lats: Floats
    lons: Floats
    from_lats: Floats
    from_lons: Floats


class ZoneIndex:
    """Many areas, asked about many places at a time."""

    def __init__(self, areas: Sequence[Area]) -> None:
        self._areas = areas
        self._odd = [row for row, area in enumerate(areas) if _is_odd(area)]
        odd = set(self._odd)
        plain = [row for row in range(len(areas)) if row not in odd]
        self._rows = np.array(plain, dtype=np.intp)
        bounds = [areas[row].bounds for row in plain]
        boxes = shapely.box(
            np.array([box.min_lon for box in bounds]) - _ROUND,
            np.array([box.min_lat for box in bounds]) - _ROUND,
            np.array([box.max_lon for box in bounds]) + _ROUND,
            np.array([box.max_lat for box in bounds]) + _ROUND,
        )
        self._tree = shapely.STRtree(boxes)
        self._round = np.array([isinstance(areas[row], Circle) for row in plain], dtype=np.bool_)
        self._circles = np.zeros((len(plain), 4))
        self._figures = np.empty(len(plain), dtype=np.object_)
        for position, row in enumerate(plain):
            area = areas[row]
            if isinstance(area, Circle):
                self._circles[position] = area.chord_test[:4]
            else:
                self._figures[position] = planar_of(area)
        # Figures of its own: prepared ones are not for several threads.
        self._figures = shapely.set_srid(self._figures, 0)
        shapely.prepare(self._figures)

    def meet(self, steps: Steps, *, ways: bool) -> tuple[Pairs, Pairs]:
        """Pairs of step and zone: where the step ends in it, and (`ways`) where it goes through.

        It goes through a zone in which it neither begins nor ends. Pairs are in order of steps.
        """
        near = self._near(steps, ways=ways)
        ends = self._contain(near, steps.lats, steps.lons)
        inside, passed = _chosen(near, ends), _NONE
        if ways:
            rest = _chosen(near, ~ends)
            rest = _chosen(rest, ~np.isnan(steps.from_lats[rest[0]]))
            rest = _chosen(rest, ~self._contain(rest, steps.from_lats, steps.from_lons))
            passed = _chosen(rest, self._pass(rest, steps))
        inside = (inside[0], self._rows[inside[1]])
        passed = (passed[0], self._rows[passed[1]])
        return self._with_others(steps, inside, passed, ways=ways)

    def _near(self, steps: Steps, *, ways: bool) -> Pairs:
        """Pairs of step and plain zone whose boxes meet."""
        lats, lons, from_lats, from_lons = steps
        if not ways:
            found = self._tree.query(shapely.points(lons, lats))
            return found[0], found[1]
        known = np.abs(from_lons - lons) <= 180.0  # also false where not known
        begin_lats, begin_lons = np.where(known, from_lats, lats), np.where(known, from_lons, lons)
        # A great circle bulges towards the pole: by less than this, in degrees.
        bulge = np.degrees(np.radians(begin_lons - lons) ** 2 / 8)
        boxes = shapely.box(
            np.minimum(lons, begin_lons),
            np.minimum(lats, begin_lats) - bulge,
            np.maximum(lons, begin_lons),
            np.maximum(lats, begin_lats) + bulge,
        )
        found = self._tree.query(boxes)
        return found[0], found[1]

    def _contain(self, pairs: Pairs, lats: Floats, lons: Floats) -> NDArray[np.bool_]:
        """Whether the zone of each pair contains the place of its step."""
        steps, zones = pairs
        inside = np.zeros(len(steps), dtype=np.bool_)
        is_round = self._round[zones]
        flat, circular = np.flatnonzero(~is_round), np.flatnonzero(is_round)
        if len(flat):
            at = steps[flat]
            inside[flat] = shapely.intersects_xy(self._figures[zones[flat]], lons[at], lats[at])
        if len(circular):
            at = steps[circular]
            x, y, z = unit_vectors(lats[at], lons[at])
            a, b, c, limit = self._circles[zones[circular]].T
            dx, dy, dz = x - a, y - b, z - c
            inside[circular] = dx * dx + dy * dy + dz * dz <= limit
        return inside

    def _pass(self, pairs: Pairs, all_steps: Steps) -> NDArray[np.bool_]:
        """Whether the way of each pair's step meets its zone; both its ends are outside."""
        steps, zones = pairs
        lats, lons, from_lats, from_lons = (each[steps] for each in all_steps)
        short = np.abs(from_lons - lons) <= 180.0
        passed = np.zeros(len(steps), dtype=np.bool_)
        is_round = self._round[zones]
        flat, circular = np.flatnonzero(~is_round & short), np.flatnonzero(is_round & short)
        if len(flat):
            ends = np.stack(
                [
                    np.column_stack([from_lons[flat], from_lats[flat]]),
                    np.column_stack([lons[flat], lats[flat]]),
                ],
                axis=1,
            )
            passed[flat] = shapely.intersects(self._figures[zones[flat]], shapely.linestrings(ends))
        if len(circular):
            begin = np.stack(unit_vectors(from_lats[circular], from_lons[circular]))
            end = np.stack(unit_vectors(lats[circular], lons[circular]))
            circles = self._circles[zones[circular]].T
            passed[circular] = _arcs_meet(begin, end, circles[:3], circles[3])
        return passed

    def _with_others(
        self, steps: Steps, inside: Pairs, passed: Pairs, *, ways: bool
    ) -> tuple[Pairs, Pairs]:
        """What was found, and what has to be asked one by one."""
        more_inside: list[tuple[int, int]] = []
        more_passed: list[tuple[int, int]] = []
        for row in self._odd:
            area = self._areas[row]
            now = area.contains_many(steps.lats, steps.lons)
            more_inside += [(step, row) for step in np.flatnonzero(now).tolist()]
            if ways and not isinstance(area, Everywhere):
                more_passed += self._asked(steps, np.flatnonzero(~now).tolist(), [row])
        if ways:
            far = np.flatnonzero(np.abs(steps.from_lons - steps.lons) > 180.0).tolist()
            if far:
                more_passed += self._asked(steps, far, self._rows.tolist())
        return _merged(inside, more_inside), _merged(passed, more_passed)

    def _asked(
        self, steps: Steps, which: Iterable[int], rows: Sequence[int]
    ) -> list[tuple[int, int]]:
        found = []
        for step in which:
            if math.isnan(steps.from_lats[step]):
                continue
            begin = Point(float(steps.from_lats[step]), float(steps.from_lons[step]))
            end = Point(float(steps.lats[step]), float(steps.lons[step]))
            found += [(step, row) for row in rows if goes_through(self._areas[row], begin, end)]
        return found


def goes_through(area: Area, begin: Point, end: Point) -> bool:
    """Whether the way from one point to the other goes through an area that holds neither."""
    if area.contains(begin) or area.contains(end):
        return False
    if isinstance(area, Circle):
        *center, limit, far_side = area.chord_test
        if far_side:  # the outside is a circle, on whose chord both ends lie: great circles leave
            return _leaves_small_circle(begin, end, np.array(center), limit)
        ends = np.array(unit_vector(begin)), np.array(unit_vector(end))
        return bool(_arcs_meet(ends[0], ends[1], np.array(center), np.array(limit)))
    east = end.lon - begin.lon
    east -= 360.0 * round(east / 360.0)
    way = shapely.LineString([(begin.lon, begin.lat), (begin.lon + east, end.lat)])
    return figures_intersect(planar_of(area), way)


def _arcs_meet(begin: Floats, end: Floats, center: Floats, limit: Floats) -> NDArray[np.bool_]:
    """Whether great circles come nearer to a centre than to both their ends, and near enough.

    Vectors are columns of x, y and z; the limit is the largest square of a chord.
    """
    normal = np.cross(begin, end, axis=0)
    length = np.sqrt((normal * normal).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        normal = normal / length
    off = (normal * center).sum(axis=0)
    foot = center - off * normal
    between = (np.cross(begin, foot, axis=0) * normal).sum(axis=0) >= 0
    between &= (np.cross(foot, end, axis=0) * normal).sum(axis=0) >= 0
    # The nearest place of the great circle is the foot, brought back to the sphere.
    distance = 2 - 2 * np.sqrt(np.maximum(0.0, 1 - off * off))
    met: NDArray[np.bool_] = between & (length > 0) & (distance <= limit)
    return met


def _leaves_small_circle(begin: Point, end: Point, antipode: Floats, limit: float) -> bool:
    """Whether the way between two places of the small circle outside a large one leaves it."""
    ends = np.array(unit_vector(begin)) + np.array(unit_vector(end))
    middle = ends / np.linalg.norm(ends)
    return bool(((middle - antipode) ** 2).sum() > limit)


def _is_odd(area: Area) -> bool:
    """Whether an area cannot be treated as a box of numbers and a plain figure."""
    if isinstance(area, Everywhere) or (isinstance(area, Circle) and area.chord_test[4]):
        return True
    box = area.bounds
    return (
        box.crosses_antimeridian
        or box.width_deg >= 180.0
        or max(abs(box.min_lon), abs(box.max_lon)) >= 180.0
        or max(abs(box.min_lat), abs(box.max_lat)) >= 90.0
    )


_NONE: Pairs = (np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))


def _chosen(pairs: Pairs, mask: NDArray[np.bool_]) -> Pairs:
    return pairs[0][mask], pairs[1][mask]


def _merged(pairs: Pairs, more: list[tuple[int, int]]) -> Pairs:
    if not more:
        return pairs
    others = np.array(more, dtype=np.intp).T
    steps, zones = np.concatenate([pairs[0], others[0]]), np.concatenate([pairs[1], others[1]])
    order = np.lexsort((zones, steps))
    return steps[order], zones[order]

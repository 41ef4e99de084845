from __future__ import annotations

import math
import random

import numpy as np
import pytest
import s2geometry as s2
from hypothesis import given
from hypothesis import strategies as st

from places import areas, areas_with_points, points
from zonal.errors import GeometryError
from zonal.geo import (
    EARTH_RADIUS_M,
    Area,
    Box,
    Cell,
    Circle,
    Everywhere,
    Grid,
    MultiPolygon,
    Point,
    Polygon,
    cell_ids_of,
    cell_intersects,
    cell_of,
    cover,
    destination,
    level_for_size,
)

levels = st.integers(0, 30)


@given(points, levels, levels)
def test_the_hierarchy_agrees_with_s2(point: Point, level: int, above: int) -> None:
    cell = cell_of(point, max(level, above))
    theirs = s2.S2CellId(cell.id)
    assert (cell.level, cell.face, cell.token) == (
        theirs.level(),
        theirs.face(),
        theirs.ToToken(),
    )
    parent = cell.parent(min(level, above))
    assert parent.id == theirs.parent(min(level, above)).id()
    assert parent.contains(cell)
    assert (parent.range_min, parent.range_max) == (
        s2.S2CellId(parent.id).range_min().id(),
        s2.S2CellId(parent.id).range_max().id(),
    )
    assert Cell.from_token(cell.token) == cell


@given(points, st.integers(0, 29))
def test_children_tile_their_parent(point: Point, level: int) -> None:
    cell = cell_of(point, level)
    children = list(cell.children())
    assert [child.id for child in children] == [
        s2.S2CellId(cell.id).child(i).id() for i in range(4)
    ]
    assert all(cell.contains(child) and child.parent(level) == cell for child in children)


@given(st.lists(points, min_size=1, max_size=50), levels)
def test_arrays_of_cells_agree_with_s2(places: list[Point], level: int) -> None:
    ids = cell_ids_of([p.lat for p in places], [p.lon for p in places], level)
    assert ids.tolist() == [cell_of(p, level).id for p in places]


def test_a_hundred_thousand_random_cells_agree_with_s2() -> None:
    rng = np.random.default_rng(7)
    lats, lons = rng.uniform(-90, 90, 100_000), rng.uniform(-180, 180, 100_000)
    sample = slice(None, None, 10)
    ids = cell_ids_of(lats, lons)[sample].tolist()
    assert ids == [
        cell_of(Point(a, b)).id
        for a, b in zip(lats[sample].tolist(), lons[sample].tolist(), strict=True)
    ]


@given(areas_with_points(), st.sampled_from([6, 8, 20]), st.sampled_from([20, 30]))
def test_a_cover_contains_the_area_with_a_bounded_number_of_cells(
    case: tuple[Area, Point], max_cells: int, max_level: int
) -> None:
    area, point = case
    cells = cover(area, max_cells, max_level=max_level)
    assert 1 <= len(cells) <= max_cells
    assert all(cell.level <= max_level for cell in cells)
    assert all(cell.level % 2 == 0 for cell in cover(area, max_cells, step=2))
    if area.contains(point):
        leaf = cell_of(point)
        assert any(cell.contains(leaf) for cell in cells)


def test_the_cover_of_a_straight_edge_holds_where_the_great_circle_would_not() -> None:
    band = Polygon(((50, 0), (50, 60), (51, 60), (51, 0), (50, 0)))
    cells = cover(band)
    for lon in np.linspace(0, 60, 121).tolist():
        for lat in (50.0, 51.0):
            assert any(cell.contains(cell_of(Point(lat, lon))) for cell in cells)


def test_a_cover_of_small_areas_is_tight() -> None:
    circle = Circle(Point(45.4642, 9.19), radius_m=2000)
    box = circle.bounds
    ring = (
        (box.min_lat, box.min_lon),
        (box.min_lat, box.max_lon),
        (box.max_lat, box.max_lon),
        (box.max_lat, box.min_lon),
        (box.min_lat, box.min_lon),
    )
    for area in (circle, box, Polygon(ring)):
        width = sum(4.0**-cell.level for cell in cover(area)) * 4 * np.pi * 6371.0**2 / 6
        assert width < 12 * 4**2  # square kilometres, against 16 of the box


def surplus(cells: tuple[Cell, ...], wanted_m2: float) -> float:
    """Declared area over wanted area."""
    area = sum(s2.S2Cell(s2.S2CellId(cell.id)).ExactArea() for cell in cells)
    return float(area) * EARTH_RADIUS_M**2 / wanted_m2


@pytest.mark.parametrize("margin", [0.0, 1 / 32])
def test_covers_of_circles_fit(margin: float) -> None:
    source = random.Random(1)
    ratios = []
    for _ in range(200):
        center = Point(math.degrees(math.asin(source.uniform(-1, 1))), source.uniform(-180, 180))
        radius_m = math.exp(source.uniform(math.log(100), math.log(50_000)))
        cells = cover(Circle(center, radius_m=radius_m * (1 + margin)), max_level=20)
        ratios.append(surplus(cells, math.pi * radius_m**2))
    assert np.median(ratios) <= 1.4
    assert np.quantile(ratios, 0.9) <= 1.6


def star(source: random.Random) -> Polygon:
    """An irregular polygon of 1 to 100 km, like a district or a country."""
    center = Point(source.uniform(-60, 60), source.uniform(-180, 180))
    size_m = math.exp(source.uniform(math.log(1_000), math.log(100_000)))
    reaches = [size_m * source.uniform(0.6, 1.4) for _ in range(24)]
    return Polygon(
        tuple(destination(center, 15.0 * n, reach_m) for n, reach_m in enumerate(reaches))
    )


def size_m2(polygon: Polygon) -> float:
    scale = math.cos(math.radians(polygon.planar.centroid.y))
    return float(polygon.planar.area) * math.radians(EARTH_RADIUS_M) ** 2 * scale


def test_covers_of_polygons_fit() -> None:
    source = random.Random(2)
    polygons = [
        polygon
        for polygon in (star(source) for _ in range(60))
        if polygon.bounds.width_deg < 10  # not around the globe
    ]
    ratios = [surplus(cover(each, max_level=20), size_m2(each)) for each in polygons]
    assert np.median(ratios) <= 1.4
    assert np.quantile(ratios, 0.9) <= 1.6


def test_a_circle_that_moves_a_little_keeps_most_of_its_cells() -> None:
    changed = total = 0
    for step in range(40):
        here, there = (
            set(cover(Circle(Point(45.4 + number * 0.0006, 9.19), radius_m=2000), max_level=20))
            for number in (step, step + 1)
        )
        changed += len(there - here)
        total += len(there)
    assert changed < 0.25 * total


def test_parts_that_are_apart_get_cells_of_their_own() -> None:
    def square(lat: float, lon: float) -> Polygon:
        corners = ((lat, lon), (lat, lon + 0.01), (lat + 0.01, lon + 0.01), (lat, lon))
        return Polygon(corners)

    cells = cover(MultiPolygon((square(45, 9), square(-33, 151))))
    assert all(cell.level >= 10 for cell in cells)


def test_everywhere_is_covered_by_the_six_faces() -> None:
    assert [cell.level for cell in cover(Everywhere())] == [0] * 6


def test_a_cover_of_nothing_is_refused() -> None:
    with pytest.raises(GeometryError, match="at least 1 cell"):
        cover(Everywhere(), 0)


@given(areas_with_points(), st.integers(4, 24))
def test_a_cell_intersects_the_areas_that_contain_a_point_of_it(
    case: tuple[Area, Point], level: int
) -> None:
    area, point = case
    if area.contains(point):
        assert cell_intersects(cell_of(point, level), area)


@given(areas, points, st.integers(4, 24))
def test_a_cell_that_intersects_an_area_is_met_by_its_cover(
    area: Area, point: Point, level: int
) -> None:
    cell = cell_of(point, level)
    if cell_intersects(cell, area) and not isinstance(area, Polygon | MultiPolygon):
        assert any(cell.intersects(part) or _touch(cell, part) for part in cover(area))


def _touch(a: Cell, b: Cell) -> bool:
    """Cells are closed: a shared edge is a common point although neither contains the other."""
    return bool(
        s2.S2Cell(s2.S2CellId(a.id)).GetDistance(s2.S2Cell(s2.S2CellId(b.id))).ToAngle().radians()
        <= 1e-14
    )


@pytest.mark.parametrize("size_m", [0.5, 1, 10, 250, 1000, 100_000])
def test_cells_of_the_level_for_a_size_are_at_least_that_wide(size_m: float) -> None:
    level = level_for_size(size_m, step=2)
    assert level % 2 == 0
    for lat in (0.0, 35.2, 45.0, 80.0):
        a, b, c, d = cell_of(Point(lat, 44.9), level).vertices
        assert min(a.distance_m(b), b.distance_m(c), c.distance_m(d)) >= size_m


@pytest.mark.parametrize("bad", [0, 1 << 63 | 1 << 62 | 1, 2, -5])
def test_an_id_that_is_no_cell_is_refused(bad: int) -> None:
    with pytest.raises(GeometryError, match="not the id"):
        Cell(bad)


@pytest.mark.parametrize("bad", ["", "x", "ffffffffffffffff", "12345678901234567"])
def test_a_token_that_is_no_cell_is_refused(bad: str) -> None:
    with pytest.raises(GeometryError, match=r"token|id"):
        Cell.from_token(bad)


@given(areas_with_points(), st.sampled_from([(10, 10), (1, 7), (13, 4)]))
def test_a_grid_maps_every_point_of_an_area_to_one_of_its_fields(
    case: tuple[Area, Point], shape: tuple[int, int]
) -> None:
    area, point = case
    for domain in (Box(-90, -180, 90, 180), Box(-60, 100, 60, -100), Box(40, 5, 50, 15)):
        grid = Grid(domain, *shape)
        if domain.contains(point) and area.contains(point):
            assert grid.cell_of(point) in list(grid.cells_of(area))


def test_fields_contain_their_south_and_west_edge_only() -> None:
    grid = Grid(Box(0, 0, 5, 5), 10, 10)
    assert grid.cell_of(Point(0.5, 0.5)) == grid.cell_of(Point(0.75, 0.999))
    assert grid.cell_of(Point(5, 5)) == grid.cell_of(Point(4.6, 4.6))
    assert len(list(grid.cells_of(Box(1.5, 2.5, 2.49, 3.49)))) == 4
    with pytest.raises(GeometryError, match="outside"):
        grid.cell_of(Point(6, 0))


@given(st.integers(0, 5), levels, st.integers(0, 4**30 - 1))
def test_a_cells_centre_is_the_one_that_s2_says(face: int, level: int, position: int) -> None:
    free = 2 * (30 - level)
    cell = Cell(face << 61 | (position >> free) << free + 1 | 1 << free)
    theirs = s2.S2CellId(cell.id).ToLatLng()
    lat, lon = theirs.lat().degrees(), theirs.lng().degrees()
    assert cell.level == level
    assert cell.center.distance_m(Point(lat, lon)) < 1e-6

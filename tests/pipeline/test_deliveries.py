from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import zenoh

from pipeline_rows import START
from zonal.geo import Area, Box, Circle, Everywhere, Point, Polygon
from zonal.pipeline import (
    MESSAGE_COLUMNS,
    SUBSCRIPTION_COLUMNS,
    area_from_columns,
    area_to_columns,
    cell_ids,
)
from zonal.pipeline.cells import cover_ranges
from zonal.pipeline.jobs import deliveries, delivery_counts, delivery_join, excess
from zonal.pipeline.jobs.delivery_join import _coarse_cells, small_radius_m

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPICS = ("city/air", "city/noise", "bus/42")


def random_area(rng: np.random.Generator, at: Point) -> Area | None:
    size = float(rng.uniform(0.005, 0.3))
    kinds: list[Area | None] = [
        Circle(at, radius_m=size * 50_000),
        Box(at.lat - size, at.lon - size, at.lat + size, at.lon + size),
        Polygon(
            [(at.lat, at.lon), (at.lat + size, at.lon), (at.lat, at.lon + size), (at.lat, at.lon)]
        ),
        Everywhere(),
        None,
    ]
    return kinds[rng.choice(5, p=[0.4, 0.25, 0.2, 0.05, 0.1])]


def random_point(rng: np.random.Generator) -> Point:
    return Point(float(rng.uniform(39.6, 40.4)), float(rng.uniform(116, 117)))


def random_messages(rng: np.random.Generator, count: int) -> list[tuple[Any, ...]]:
    rows = []
    for number in range(count):
        at = random_point(rng)
        fence = random_area(rng, random_point(rng)) if rng.random() < 0.4 else None
        nowhere = rng.random() < 0.05
        rows.append(
            (
                number,
                TOPICS[rng.integers(3)],
                START + timedelta(seconds=number),
                None if nowhere else at.lat,
                None if nowhere else at.lon,
                None if nowhere else int(cell_ids(np.array([at.lat]), np.array([at.lon]))[0]),
                *area_to_columns(fence),
            )
        )
    return rows


def random_subscriptions(rng: np.random.Generator, count: int) -> list[tuple[Any, ...]]:
    rows = []
    for number in range(count):
        at = random_point(rng)
        known = rng.random() < 0.8
        since = START + timedelta(seconds=int(rng.integers(100))) if rng.random() < 0.3 else None
        until = (
            START + timedelta(seconds=int(rng.integers(100, 200))) if rng.random() < 0.3 else None
        )
        rows.append(
            (
                f"s{number}",
                ["city/**", "city/air", "**", "bus/*"][rng.integers(4)],
                *area_to_columns(random_area(rng, at)),
                at.lat if known else None,
                at.lon if known else None,
                since,
                until,
            )
        )
    return rows


def expected_pairs(messages: list[Any], subscriptions: list[Any]) -> set[tuple[int, str]]:
    """The three checks, one pair at a time, as a session does them."""
    found = set()
    for number, topic, time, lat, lon, _, fence, radius in messages:
        place = None if lat is None else Point(lat, lon)
        fence_area = area_from_columns(fence, radius)
        for name, wanted, shape, shape_radius, own_lat, own_lon, since, until in subscriptions:
            area = area_from_columns(shape, shape_radius)
            if not zenoh.KeyExpr(wanted).intersects(zenoh.KeyExpr(topic)):
                continue
            if (since and time < since) or (until and time >= until):
                continue
            if area is not None and (place is None or not area.contains(place)):
                continue
            own = None if own_lat is None else Point(own_lat, own_lon)
            if fence_area is not None and (own is None or not fence_area.contains(own)):
                continue
            found.add((number, name))
    return found


@pytest.mark.parametrize(
    ("seed", "level"), [(2, 6), (3, 14), pytest.param(1, 10, marks=pytest.mark.slow)]
)
def test_the_join_delivers_exactly_what_the_three_checks_say(
    spark: SparkSession, seed: int, level: int
) -> None:
    rng = np.random.default_rng(seed)
    messages, subscriptions = random_messages(rng, 250), random_subscriptions(rng, 60)
    expected = expected_pairs(messages, subscriptions)
    assert len(expected) > 200
    left = spark.createDataFrame(messages, MESSAGE_COLUMNS)
    right = spark.createDataFrame(subscriptions, SUBSCRIPTION_COLUMNS)
    found = [tuple(row) for row in deliveries(left, right, level=level).collect()]
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_counts_and_excess_against_content_alone(spark: SparkSession) -> None:
    rng = np.random.default_rng(5)
    messages, subscriptions = random_messages(rng, 200), random_subscriptions(rng, 30)
    left = spark.createDataFrame(messages, MESSAGE_COLUMNS)
    right = spark.createDataFrame(subscriptions, SUBSCRIPTION_COLUMNS)
    with_geo = expected_pairs(messages, subscriptions)
    plain = [(*row[:6], None, None) for row in messages]
    anywhere = [(*row[:2], None, None, *row[4:]) for row in subscriptions]
    without = expected_pairs(plain, anywhere)
    counts = {row.subscriber: row["count"] for row in delivery_counts(left, right).collect()}
    assert counts == {
        name: sum(who == name for _, who in with_geo) for name in {who for _, who in with_geo}
    }
    rows = {row.subscriber: (row.geo, row.no_geo) for row in excess(left, right).collect()}
    assert sum(geo for geo, _ in rows.values()) == len(with_geo)
    assert sum(no_geo for _, no_geo in rows.values()) == len(without)


@pytest.mark.parametrize("level", [0, 6, 10, 14, 20])
def test_a_small_circle_touches_few_cells_wherever_it_is(level: int) -> None:
    """By this the join knows without a cover that such a one does not reach everywhere."""
    rng = np.random.default_rng(level)
    for _ in range(200):
        at = Point(float(np.degrees(np.arcsin(rng.uniform(-1, 1)))), float(rng.uniform(-180, 180)))
        circle = Circle(at, radius_m=small_radius_m(level))
        cells = _coarse_cells(cover_ranges(circle), level)
        assert cells is not None
        assert len(cells) <= 8


def test_areas_that_are_small_circles_are_covered_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    real = delivery_join._exploded

    def counted(subscriptions: DataFrame, level: int) -> DataFrame:
        asked.append(subscriptions.count())
        return real(subscriptions, level)

    monkeypatch.setattr(delivery_join, "_exploded", counted)
    circles = [
        ("s", "**", *area_to_columns(Circle(Point(40, 116 + i / 10), radius_m=1000.0)), *[None] * 4)
        for i in range(5)
    ]
    left = spark.createDataFrame([], MESSAGE_COLUMNS)
    deliveries(left, spark.createDataFrame(circles, SUBSCRIPTION_COLUMNS))
    assert sorted(asked) == [0, 5]


def test_a_table_without_a_column_is_refused(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="no column cell"):
        deliveries(
            spark.createDataFrame([], MESSAGE_COLUMNS).drop("cell"),
            spark.createDataFrame([], SUBSCRIPTION_COLUMNS),
        )

"""Deliveries: our join beside the cross join and GeoPandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

from pipeline_measuring import Took, measured, say, spark
from zonal_lab.peers import message_table, subscription_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def bench_deliveries(folder: Path, scale: float, data: Path | None) -> dict[str, Any]:
    """The join against the cross join with the same predicate, and one GeoPandas process."""
    from zonal.pipeline.jobs import delivery_counts

    session = spark()
    sizes = [int(1_000_000 * scale) // 4, int(1_000_000 * scale)]
    subscribers = int(10_000 * scale**0.5)
    geolife = data / "geolife" if data else None
    pq.write_table(message_table(sizes[1], geolife), folder / "m.parquet", row_group_size=100_000)
    wanted_table = subscription_table(subscribers, geolife)
    pq.write_table(
        wanted_table.append_column("circle", _circles(wanted_table)), folder / "s.parquet"
    )
    messages = session.read.parquet(str(folder / "m.parquet"))
    wanted = session.read.parquet(str(folder / "s.parquet"))
    # Start workers and compile; at the smaller size, or its own run would pay for that.
    delivery_counts(messages.where(f"id < {sizes[0]}"), wanted).count()
    took, totals = [], []
    for size in sizes:
        with measured() as one:
            counted = delivery_counts(messages.where(f"id < {size}"), wanted)
            totals.append(counted.agg({"count": "sum"}).first()[0])
        took.append(one)
    cross, sampled = _cross_join(session, folder, sample_messages=20_000, sample_subscribers=10_000)
    pairs = sizes[1] * subscribers
    alone = _geopandas_join(
        folder, subscribers=subscribers, sample_subscribers=min(200, subscribers)
    )
    result = {
        "messages": sizes[1],
        "subscriptions": subscribers,
        "deliveries": totals[1],
        "join_s": took[1].wall_s,
        "join_cpu_s": took[1].cpu_s,
        "growth_1x_to_4x": took[1].cpu_s / took[0].cpu_s,
        "growth_wall": took[1].wall_s / took[0].wall_s,
        "cross_join_s_extrapolated": cross.wall_s * pairs,
        "times_faster_than_cross_join": cross.wall_s * pairs / took[1].wall_s,
        "times_faster_by_cpu": cross.cpu_s * pairs / took[1].cpu_s,
        "cross_join_sampled_pairs": sampled,
        "geopandas_s_extrapolated": alone.wall_s,
        "times_faster_than_geopandas": alone.wall_s / took[1].wall_s,
        "times_geopandas_by_cpu": alone.cpu_s / took[1].cpu_s,
    }
    say(
        f"deliveries, {sizes[1]:,} messages × {subscribers:,} subscriptions in Beijing: "
        f"{totals[1]:,} deliveries in {took[1].wall_s:.1f} s ({took[1].cpu_s:.1f} s of processor "
        f"time); {result['times_faster_than_cross_join']:,.0f} times faster than the cross join "
        f"({result['times_faster_by_cpu']:,.0f} by processor time; target 20; measured on "
        f"{sampled:,} pairs, {result['cross_join_s_extrapolated']:,.0f} s for all), "
        f"{result['times_faster_than_geopandas']:.1f} times faster than one GeoPandas process "
        f"({alone.wall_s:,.0f} s, from 200 subscriptions); four times the messages take "
        f"{result['growth_wall']:.2f} times as long ({result['growth_1x_to_4x']:.2f} by processor)"
    )
    return result


def _circles(wanted: pa.Table) -> pa.Array:
    """The areas of subscriptions as polygons of 64 corners, for those who know no circles."""
    reach = np.degrees(np.array(wanted["area_radius_m"]) / 6_371_008.8)
    lats, lons = wanted["latitude"].to_numpy(), wanted["longitude"].to_numpy()
    shapes = [
        shapely.transform(
            shapely.Point(0, 0).buffer(size, quad_segs=16),
            lambda xy, lat=lat, lon=lon: xy / [np.cos(np.radians(lat)), 1.0] + [lon, lat],
        )
        for lat, lon, size in zip(lats, lons, reach, strict=True)
    ]
    return pa.array(shapely.to_wkb(shapes), pa.binary())


def _cross_join(
    session: SparkSession, folder: Path, *, sample_messages: int, sample_subscribers: int
) -> tuple[Took, int]:
    """Seconds per pair, and how many: all by the same great-circle predicate, compiled by Spark."""
    from pyspark.sql import functions as F  # noqa: N812

    messages = session.read.parquet(str(folder / "m.parquet")).limit(sample_messages)
    wanted = session.read.parquet(str(folder / "s.parquet")).limit(sample_subscribers)
    left = messages.select(
        "topic", F.radians("latitude").alias("a"), F.radians("longitude").alias("b")
    )
    right = wanted.select(
        F.radians("latitude").alias("c"), F.radians("longitude").alias("d"), "area_radius_m"
    )
    left, right = left.repartition(2).persist(), right.persist()  # a task for each core
    count = left.count() * right.count()
    half = F.sin((F.col("a") - F.col("c")) / 2)
    other = F.sin((F.col("b") - F.col("d")) / 2)
    chord = half * half + F.cos("a") * F.cos("c") * other * other
    near = 2 * 6_371_008.8 * F.asin(F.sqrt(chord)) <= F.col("area_radius_m")
    joined = left.crossJoin(F.broadcast(right)).where((F.col("topic") == "city/air") & near)
    joined.where("a < 0").count()  # compile
    with measured() as took:
        joined.count()
    return Took(took.wall_s / count, took.cpu_s / count), count


def _geopandas_join(folder: Path, *, subscribers: int, sample_subscribers: int) -> Took:
    """Seconds of one GeoPandas process: index all messages, join a sample of circles, scale up."""
    import geopandas

    table = pq.read_table(folder / "m.parquet", columns=["latitude", "longitude"])
    wanted = pq.read_table(folder / "s.parquet").slice(0, sample_subscribers)
    points = geopandas.GeoDataFrame(
        geometry=geopandas.points_from_xy(
            table["longitude"].to_numpy(), table["latitude"].to_numpy()
        )
    )
    with measured() as build:
        points.sindex.query(shapely.Point(0, 0))  # builds it
    # Circles as polygons, and no topic: less than the join answers, in GeoPandas' favour.
    circles = shapely.from_wkb(wanted["circle"].to_pylist())
    with measured() as query:
        geopandas.sjoin(geopandas.GeoDataFrame(geometry=circles), points, predicate="contains")
    times = subscribers / len(circles)
    return Took(build.wall_s + times * query.wall_s, build.cpu_s + times * query.cpu_s)

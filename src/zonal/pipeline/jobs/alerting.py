"""Alerts: a threshold per zone and window becomes a message that only those in the zone hear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import shapely
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

from zonal.errors import DeclarationError
from zonal.pipeline.jobs.sink import publish_row
from zonal.pipeline.jobs.tables import read_table, write_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from zonal.pipeline.lake import Lake
    from zonal.pipeline.zones import Zones
    from zonal.session import Session

_STATISTICS = ("count", "mean", "p95", "max")


@dataclass(frozen=True)
class AlertRule:
    """Say so when a measure of a zone goes above a threshold."""

    measure: str
    threshold: float
    statistic: str = "mean"
    topic: str = "alerts"
    """The alert goes to `<topic>/<measure>`."""

    def __post_init__(self) -> None:
        if self.statistic not in _STATISTICS:
            raise DeclarationError(f"{self.statistic!r} is not one of {', '.join(_STATISTICS)}")


def alerts(windows: DataFrame, rule: AlertRule, zones: Zones) -> DataFrame:
    """Windows above the threshold as rows for the sink: located in, and fenced to, their zone."""
    spark = windows.sparkSession
    shapes = [
        (name, point.y, point.x, shape)
        for name, shape in zip(zones.names, zones.shapes, strict=True)
        for point in (shapely.point_on_surface(shapely.from_wkb(shape)),)
    ]
    fences = spark.createDataFrame(
        shapes, "zone STRING, latitude DOUBLE, longitude DOUBLE, geofence BINARY"
    )
    above = windows.where(
        (F.col("measure") == rule.measure)
        & F.col("zone").isNotNull()
        & (F.col(rule.statistic) > rule.threshold)
    )
    body = F.struct(
        F.lit(rule.measure).alias("measure"),
        F.lit(rule.statistic).alias("statistic"),
        F.lit(rule.threshold).alias("threshold"),
        F.col(rule.statistic).cast("double").alias("value"),
        "zone",
        F.col("time").alias("since"),
        "until",
        F.col("topic").alias("about"),
    )
    label = f"{rule.topic}:{rule.measure}:{rule.statistic}:{rule.threshold:g}"
    identity = F.concat_ws(":", F.lit(label), "topic", "zone", F.col("time").cast("bigint"))
    return above.join(F.broadcast(fences), "zone").select(
        F.lit(f"{rule.topic}/{rule.measure}").alias("topic"),
        F.to_json(body).cast("binary").alias("payload"),
        "latitude",
        "longitude",
        "geofence",
        F.lit("application/json").alias("encoding"),
        identity.alias("id"),
        "time",
    )


def raise_alerts(
    spark: SparkSession, lake: Lake, rule: AlertRule, zones: Zones, session: Session
) -> int:
    """Publish the alerts that are due and were not raised before; returns how many.

    An alert is noted in the table `alerts` after it was sent: a crash in between sends it again,
    with the same `id` in the attachment. Each zone and window is alerted of once.
    """
    due = alerts(read_table(spark, lake, "windows"), rule, zones)
    if lake.find("alerts") is not None:
        due = due.join(read_table(spark, lake, "alerts").select("id"), "id", "left_anti")
    rows = [
        {**row.asDict(), "payload": bytes(row.payload), "geofence": bytes(row.geofence)}
        for row in due.collect()
    ]
    for row in rows:
        publish_row(session, row)
    if rows:
        noted = spark.createDataFrame(
            [(row["id"], row["time"], row["topic"], row["payload"]) for row in rows],
            "id STRING, time TIMESTAMP, topic STRING, payload BINARY",
        )
        write_table(lake, "alerts", noted.coalesce(1))
    return len(rows)

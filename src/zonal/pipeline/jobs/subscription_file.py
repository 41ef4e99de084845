"""Subscriptions as people write them down: a CSV file for the deliveries job."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonal.errors import DeclarationError
from zonal.geo import area_from_wkt
from zonal.pipeline.matching import SUBSCRIPTION_COLUMNS
from zonal.pipeline.shapes import area_to_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def subscriptions_from_csv(spark: SparkSession, path: str | Path) -> DataFrame:
    """Subscriptions for `deliveries` from CSV: subscriber, topic, area (WKT), latitude, longitude.

    All but the first two may be empty; a circle is `CIRCLE (lon lat, metres)`.
    """
    with Path(path).open(newline="") as file:
        reader = csv.DictReader(file)
        missing = {"subscriber", "topic"} - set(reader.fieldnames or ())
        if missing:
            raise DeclarationError(f"{path} has no column {min(missing)}")
        rows = [_subscription(row, f"{path}, line {reader.line_num}") for row in reader]
    return spark.createDataFrame(rows, SUBSCRIPTION_COLUMNS)


def _subscription(row: dict[str, str], where: str) -> tuple[Any, ...]:
    try:
        area = area_from_wkt(row["area"]) if row.get("area") else None
        place = (float(row[name]) if row.get(name) else None for name in ("latitude", "longitude"))
        return (row["subscriber"], row["topic"], *area_to_columns(area), *place, None, None)
    except ValueError as error:
        raise DeclarationError(f"{where}: {error}") from error

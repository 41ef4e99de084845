"""Recorded journeys into traces for clients: Geolife .plt folders and GTFS-realtime CSV files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it
from pyspark.sql.window import Window

from zonal.errors import DeclarationError
from zonal.geo import EARTH_RADIUS_M, Circle, Point
from zonal.pipeline import MESSAGE_COLUMNS, SUBSCRIPTION_COLUMNS, area_to_columns, cell_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

JOURNEYS = "trajectory STRING, time TIMESTAMP, latitude DOUBLE, longitude DOUBLE"
TRACE = (
    "client BIGINT, trajectory STRING, step BIGINT, at_s DOUBLE, latitude DOUBLE, longitude DOUBLE"
)
_PLT_HEADER_LINES = 6
_PLT_COLUMNS = ("latitude", "longitude", "zero", "altitude_ft", "days", "date", "clock")
_DEGREE_M = float(np.radians(1.0)) * EARTH_RADIUS_M


def geolife(spark: SparkSession, folder: str | Path) -> DataFrame:
    """Journeys of a Geolife folder (`<user>/Trajectory/*.plt`), one trajectory per file."""
    paths = sorted(Path(folder).rglob("*.plt"))
    if not paths:
        raise DeclarationError(f"{folder} holds no .plt files")
    return _read(spark, paths, read_plt)


def gtfs_realtime(spark: SparkSession, folder: str | Path) -> DataFrame:
    """Journeys of vehicle-position CSV files, one trajectory per vehicle and day."""
    paths = sorted(Path(folder).rglob("*.csv"))
    if not paths:
        raise DeclarationError(f"{folder} holds no .csv files")
    return _read(spark, paths, _read_positions)


def assign(
    journeys: DataFrame, clients: int, *, kind: Literal["travel", "teleport"] = "travel"
) -> DataFrame:
    """Give trajectories to clients by increasing identifier (GeoBroker, section 5): a `TRACE`.

    A travelling client follows the time stamps (`at_s`, seconds since its start); a teleporting
    one goes as fast as it can (`at_s` is null). The same input gives the same traces, always.
    """
    if clients < 1:
        raise DeclarationError(f"{clients} clients are not at least one")
    names = journeys.select("trajectory").distinct().orderBy("trajectory").limit(clients)
    numbered = names.withColumn(
        "client", F.row_number().over(Window.orderBy("trajectory")).cast("bigint") - 1
    )
    order = Window.partitionBy("client").orderBy("time", "latitude", "longitude")
    seconds = F.unix_micros("time") / 1e6
    at = seconds - F.first(seconds).over(order)
    return (
        journeys.join(F.broadcast(numbered), "trajectory")
        .withColumns(
            {
                "step": F.row_number().over(order).cast("bigint") - 1,
                "at_s": at if kind == "travel" else F.lit(None).cast("double"),
            }
        )
        .select("client", "trajectory", "step", "at_s", "latitude", "longitude")
        .orderBy("client", "step")
    )


def use_case(
    trace: DataFrame,
    *,
    topic: str = "geo",
    radius_deg: float = 0.01,
    start: datetime = datetime(2026, 1, 1, tzinfo=UTC),
) -> tuple[DataFrame, DataFrame]:
    """GeoBroker's use case as tables for `deliveries`: messages and subscriptions.

    At each arrival a client updates its position and its subscription (a circle) and publishes a
    message with a circle as geofence; a subscription is valid until the next arrival.
    """
    arrivals = trace.where("at_s is not null")
    order = Window.partitionBy("client").orderBy("step")
    timed = arrivals.withColumns(
        {
            "since": F.timestamp_micros(
                (F.lit(start.timestamp()) * 1e6 + F.col("at_s") * 1e6).cast("bigint")
            ),
            "id": F.col("client") * 10_000_000 + F.col("step"),
        }
    ).withColumn("until", F.lead("since").over(order))
    radius_m = radius_deg * _DEGREE_M
    messages = timed.mapInArrow(_mapper(_message_rows, topic, radius_m), MESSAGE_COLUMNS)
    subscriptions = timed.mapInArrow(
        _mapper(_subscription_rows, topic, radius_m), SUBSCRIPTION_COLUMNS
    )
    return messages, subscriptions


def _mapper(
    make: Callable[[pa.RecordBatch, str, float], dict[str, Any]], topic: str, radius_m: float
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = make(batch, topic, radius_m)
            yield pa.RecordBatch.from_pydict(columns)

    return run


def _message_rows(batch: pa.RecordBatch, topic: str, radius_m: float) -> dict[str, Any]:
    lats, lons = batch["latitude"].to_numpy(), batch["longitude"].to_numpy()
    return {
        "id": batch["id"],
        "topic": pa.array([topic] * len(batch)),
        "time": batch["since"],
        "latitude": batch["latitude"],
        "longitude": batch["longitude"],
        "cell": pa.array(cell_ids(lats, lons)),
        "geofence": _centres(lats, lons),
        "geofence_radius_m": pa.array(np.full(len(batch), radius_m)),
    }


def _subscription_rows(batch: pa.RecordBatch, topic: str, radius_m: float) -> dict[str, Any]:
    lats, lons = batch["latitude"].to_numpy(), batch["longitude"].to_numpy()
    return {
        "subscriber": pc.cast(batch["client"], pa.string()),
        "topic": pa.array([topic] * len(batch)),
        "area": _centres(lats, lons),
        "area_radius_m": pa.array(np.full(len(batch), radius_m)),
        "latitude": batch["latitude"],
        "longitude": batch["longitude"],
        "since": batch["since"],
        "until": batch["until"],
    }


def _centres(lats: Any, lons: Any) -> pa.Array:
    circles = (Circle(Point(lat, lon), radius_m=1.0) for lat, lon in zip(lats, lons, strict=True))
    return pa.array([area_to_columns(circle)[0] for circle in circles], pa.binary())


def _read(
    spark: SparkSession, paths: list[Path], read: Callable[[str], pa.RecordBatch]
) -> DataFrame:
    names = spark.createDataFrame([(str(path.absolute()),) for path in paths], "path STRING")

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path in batch["path"].to_pylist():
                yield read(path)

    parts = min(len(paths), spark.sparkContext.defaultParallelism * 4)
    return names.repartition(parts).mapInArrow(parse, JOURNEYS)


def read_plt(path: str) -> pa.RecordBatch:
    """One trajectory of Geolife, without the places that are none: columns as in `JOURNEYS`."""
    file = Path(path)
    options = pacsv.ReadOptions(skip_rows=_PLT_HEADER_LINES, column_names=list(_PLT_COLUMNS))
    convert = pacsv.ConvertOptions(column_types={"date": pa.string(), "clock": pa.string()})
    try:
        table = pacsv.read_csv(path, read_options=options, convert_options=convert)
        times = pc.binary_join_element_wise(table["date"], table["clock"], "T")
        times = pc.assume_timezone(pc.strptime(times, "%Y-%m-%dT%H:%M:%S", "us"), "UTC")
    except pa.ArrowException as error:
        raise DeclarationError(f"{path} is no Geolife trajectory: {error}") from error
    name = f"{file.parent.parent.name}/{file.stem}"
    return _journey(pa.array([name] * len(table)), times, table)


def _read_positions(path: str) -> pa.RecordBatch:
    convert = pacsv.ConvertOptions(
        column_types={"vehicle_id": pa.string(), "timestamp": pa.timestamp("us", tz="UTC")},
        include_columns=["vehicle_id", "timestamp", "latitude", "longitude"],
    )
    try:
        table = pacsv.read_csv(path, convert_options=convert)
    except (pa.ArrowException, KeyError) as error:
        raise DeclarationError(f"{path} is no file of vehicle positions: {error}") from error
    vehicle = table["vehicle_id"].combine_chunks()
    names = pc.binary_join_element_wise(vehicle.cast(pa.string()), Path(path).stem, "/")
    return _journey(names, table["timestamp"], table)


def _journey(names: pa.Array, times: pa.ChunkedArray, table: pa.Table) -> pa.RecordBatch:
    lats, lons = (table[name].cast(pa.float64()) for name in ("latitude", "longitude"))
    rows = pa.table({"trajectory": names, "time": times, "latitude": lats, "longitude": lons})
    # Some devices wrote places that are none (a latitude of 400 is in the original data).
    rows = rows.filter(pc.and_(pc.less_equal(pc.abs(lats), 90), pc.less_equal(pc.abs(lons), 180)))
    return rows.combine_chunks().to_batches()[0] if rows.num_rows else _NO_JOURNEY


_NO_JOURNEY = pa.RecordBatch.from_pydict(
    {"trajectory": [], "time": [], "latitude": [], "longitude": []},
    schema=pa.schema(
        [
            ("trajectory", pa.string()),
            ("time", pa.timestamp("us", tz="UTC")),
            ("latitude", pa.float64()),
            ("longitude", pa.float64()),
        ]
    ),
)

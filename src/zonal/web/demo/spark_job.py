"""The Spark job of the demo, as a process: log, silver, gold, then zones and alerts to the network.

`python -m zonal.web.demo.spark_job LOG LAKE ZONES CONNECT`
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions

import zonal
from zonal.geo import Point, area_from_wkb
from zonal.pipeline.alerts import AlertRule, raise_alerts
from zonal.pipeline.declaration import Declaration
from zonal.pipeline.gold import WindowPlan
from zonal.pipeline.silver import SilverPlan
from zonal.pipeline.spark import open_spark
from zonal.pipeline.stream import BatchReport, Pipeline, PipelinePlan
from zonal.pipeline.tables import read_table
from zonal.pipeline.zones import Zones
from zonal.web.demo import topics
from zonal.web.demo.city import ALERT_ABOVE
from zonal.web.demo.crowd import JSON
from zonal.web.demo.past import spark_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

WINDOW_S = 20
_TRIGGER_S = 4.0


def main(log: str, lake: str, zones: str, connect: str) -> None:
    """Run until the process is asked to end."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    _say("starting Spark")
    spark = open_spark("local[1]", app="zonal-demo", conf=spark_settings())
    _say("Spark is up")
    config = zonal.config("client", connect=connect.split(","))
    with zonal.open(config) as session:
        job = Job(spark, log, lake, Path(zones), session)
        query = job.pipeline.start(trigger_s=_TRIGGER_S)
        while query.isActive and not ended.wait(0.5):
            pass
        if query.exception() is not None:
            _say(f"Spark ended: {str(query.exception()).splitlines()[0]}")
        with contextlib.suppress(Exception):  # the Java side may be going down by itself
            query.stop()
    with contextlib.suppress(Exception):
        spark.stop()


class Job:
    """The pipeline of the city, and what follows whenever its districts are known anew."""

    def __init__(
        self, spark: SparkSession, log: str, lake: str, zones: Path, session: zonal.Session
    ) -> None:
        self._spark = spark
        self._session = session
        self._zones = Zones.from_geojson(json.loads(zones.read_text()), name="zone")
        self._rule = AlertRule("pm10", ALERT_ABOVE, topic=topics.ALERT_PREFIX)
        self._rows = 0
        self.pipeline = Pipeline(spark, log, lake, self._plan(), on_batch=self._batch)
        self.pipeline.on_gold(self._gold)

    def _plan(self) -> PipelinePlan:
        fields = {"id": "string"}
        declared = {
            topics.AIR: {"fields": {**fields, "pm10": "double"}, "device": "id"},
            topics.LIVE: {"fields": fields, "device": "id"},
        }
        declaration = Declaration.from_mapping({"topics": declared})
        return PipelinePlan(
            silver=SilverPlan(declaration=declaration, zones=self._zones),
            windows=WindowPlan(measures=("pm10",), window_s=WINDOW_S),
        )

    def _batch(self, report: BatchReport) -> None:
        self._rows += report.silver
        _say(f"Spark has refined {self._rows:,} messages")

    def _gold(self) -> None:
        self._tell_zones()
        raised = raise_alerts(
            self._spark, self.pipeline.lake, self._rule, self._zones, self._publish
        )
        if raised:
            _say(f"Spark raised {raised} alerts")

    def _tell_zones(self) -> None:
        windows = read_table(self._spark, self.pipeline.lake, "windows")
        wanted = windows.where("zone IS NOT NULL AND measure = 'pm10' AND mean IS NOT NULL")
        newest = wanted.groupBy("zone").agg(functions.max_by("mean", "time").alias("mean"))
        for row in newest.collect():
            value = {"zone": row["zone"], "mean": round(row["mean"], 1)}
            self._session.put(topics.ZONES, json.dumps(value), content_encoding=JSON)

    def _publish(self, row: Mapping[str, Any]) -> None:
        self._session.put(
            row["topic"],
            row["payload"],
            location=Point(row["latitude"], row["longitude"]),
            geofence=area_from_wkb(row["geofence"]),
            content_encoding=JSON,
        )


def _say(text: str) -> None:
    print(f"zonal: {text}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

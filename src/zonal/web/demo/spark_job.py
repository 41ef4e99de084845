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
from typing import TYPE_CHECKING

from pyspark.sql import functions

import zonal
from zonal.pipeline import PayloadDeclaration, Zones
from zonal.pipeline.jobs import (
    AlertRule,
    BatchReport,
    Pipeline,
    PipelinePlan,
    SilverPlan,
    WindowPlan,
    open_spark,
    read_table,
)
from zonal.web.demo import topics
from zonal.web.demo.city import ALERT_ABOVE
from zonal.web.demo.crowd import JSON
from zonal.web.demo.past import FAILED, SAYS, TAKES_OVER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOW_S = 20
_TRIGGER_S = 4.0
# Small: the demo shares the machine with everything it shows.
_SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def main(log: str, lake: str, zones: str, connect: str) -> None:
    """Run until the process is asked to end."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    _say("Spark starts")
    try:
        spark = open_spark("local[1]", app="zonal-demo", conf=_SETTINGS, tell=_say)
    except zonal.ZonalError as error:
        _say(f"{FAILED}{error}")
        return
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
        self._session = session
        self._refined = 0
        self.pipeline = Pipeline(
            spark,
            log,
            lake,
            _plan(zones),
            session=session,
            on_batch=self._batch,
            on_alerts=lambda _, raised: _say(f"Spark raised {raised} alerts"),
        )
        self.pipeline.on_gold(self._tell_zones)

    def _batch(self, report: BatchReport) -> None:
        if self._refined == 0:
            print(TAKES_OVER, flush=True)
        self._refined += report.silver
        _say(f"Spark has refined {self._refined:,} messages")

    def _tell_zones(self) -> None:
        windows = read_table(self.pipeline.spark, self.pipeline.lake, "windows")
        wanted = windows.where("zone IS NOT NULL AND measure = 'pm10' AND mean IS NOT NULL")
        newest = wanted.groupBy("zone").agg(functions.max_by("mean", "time").alias("mean"))
        for row in newest.collect():
            value = {"zone": row["zone"], "mean": round(row["mean"], 1)}
            self._session.put(topics.ZONES, json.dumps(value), content_encoding=JSON)


def _plan(zones: Path) -> PipelinePlan:
    fields = {"id": "string"}
    declared = {
        topics.AIR: {"fields": {**fields, "pm10": "double"}, "device": "id"},
        topics.LIVE: {"fields": fields, "device": "id"},
    }
    return PipelinePlan(
        SilverPlan(
            PayloadDeclaration.from_mapping({"topics": declared}),
            Zones.from_file(zones, name="zone"),
        ),
        WindowPlan(measures=("pm10",), window_s=WINDOW_S),
        alerts=(AlertRule("pm10", ALERT_ABOVE, topic=topics.ALERT_PREFIX),),
    )


def _say(text: str) -> None:
    print(f"{SAYS}{text}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

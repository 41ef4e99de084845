"""From live messages to a gold table, step by step: a router, two sensors, a log, a lake.

Run it (`python examples/pipeline_city_air.py`), or paste it into a notebook cell by cell: `# %%`.
"""

# %% A router and a recorder; the log survives kill -9.
import json
import tempfile
import time
from pathlib import Path

import shapely

import zonal
from zonal.pipeline import (
    Field,
    History,
    PayloadDeclaration,
    Recorder,
    RecorderPlan,
    Selection,
    TopicSchema,
    Zones,
)
from zonal.pipeline.jobs import (
    AlertRule,
    Pipeline,
    PipelinePlan,
    SilverPlan,
    WindowPlan,
    open_spark,
    raise_alerts,
    read_table,
)

DUOMO, NAVIGLI = zonal.Point(45.4642, 9.19), zonal.Point(45.4503, 9.1750)


def client(router: zonal.Router, **options: zonal.Point) -> zonal.Session:
    stamped = {"timestamping/enabled": True}
    settings = zonal.config("client", connect=router.endpoints[:1], settings=stamped)
    return zonal.open(settings, **options)


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="zonal-example-"))
    with zonal.Router(("tcp/127.0.0.1:0",)) as router:
        # %% Record what two sensors say.
        with client(router) as session, client(router) as sensors:
            plan = RecorderPlan(flush_s=0.2)
            with Recorder(session, folder / "log", ["city/**"], plan=plan) as recorder:
                # With a memory, so that a recorder that comes late misses nothing.
                duomo, navigli = (
                    sensors.declare_publisher(
                        "city/air", location=place, memory=zonal.Memory(cache=1000)
                    )
                    for place in (DUOMO, NAVIGLI)
                )
                for step in range(100):
                    for sensor, value in ((duomo, 20 + step), (navigli, 15)):
                        sensor.put(json.dumps({"pm10": value}))
                duomo.put(b"not JSON at all")
                while recorder.counters.written < 201:
                    time.sleep(0.05)
                print(recorder.counters)

        # %% Silver, quarantine and gold.
        declared = PayloadDeclaration((TopicSchema("city/air", (Field("pm10", "double"),)),))
        zones = Zones(
            ("Duomo", "Navigli"),
            tuple(
                shapely.to_wkb(
                    shapely.box(p.lon - 0.007, p.lat - 0.006, p.lon + 0.007, p.lat + 0.006)
                )
                for p in (DUOMO, NAVIGLI)
            ),
        )
        spark = open_spark("local[2]", conf={"spark.sql.shuffle.partitions": "2"})
        pipeline = Pipeline(
            spark,
            folder / "log",
            folder / "lake",
            PipelinePlan(SilverPlan(declared, zones), WindowPlan(declared.measures, 60)),
        )
        pipeline.run()
        read_table(spark, pipeline.lake, "windows").where("zone is not null").show()
        read_table(spark, pipeline.lake, "quarantine").select("offset", "reason").show(
            truncate=False
        )

        # %% An alert that only those near the Duomo hear.
        with client(router, position=DUOMO) as citizen, client(router) as sender:
            alerts = citizen.declare_subscriber("alerts/**")
            raised = raise_alerts(spark, pipeline.lake, AlertRule("pm10", 50.0), zones, sender)
            alert = alerts.recv(timeout=10)
            print(raised, "alert:", alert.payload.to_string() if alert else "none heard")

        # %% History as a pandas DataFrame, without Spark.
        past = History(lake=folder / "lake", log=folder / "log")
        near = Selection("city/**", zonal.Circle(NAVIGLI, radius_m=500))
        print(past.dataframe(near)[["timestamp", "latitude", "longitude"]].describe())


if __name__ == "__main__":
    main()

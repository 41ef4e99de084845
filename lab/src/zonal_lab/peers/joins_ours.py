"""Our join of deliveries on Spark: `python -m zonal_lab.peers.joins_ours FOLDER`.

It says `warm` once a quarter of the messages are joined, and then, for a line on its input, joins
all of them and prints a line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from zonal.pipeline.jobs import delivery_counts, open_spark
from zonal_lab.peers.joins_data import MESSAGES, SUBSCRIPTIONS


def main(folder: Path) -> None:
    """Warm up, wait, join."""
    spark = open_spark(
        "local[2]", conf={"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "4g"}
    )
    messages = spark.read.parquet(str(folder / MESSAGES))
    wanted = spark.read.parquet(str(folder / SUBSCRIPTIONS))
    delivery_counts(messages.where("id % 4 = 1"), wanted).agg({"count": "sum"}).first()
    print("warm", flush=True)
    sys.stdin.readline()
    begun = time.perf_counter()
    ((counted,),) = delivery_counts(messages, wanted).agg({"count": "sum"}).collect()
    print(json.dumps({"seconds": time.perf_counter() - begun, "deliveries": counted}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""The laboratory's jobs on Spark; importing this needs Spark.

- `workload`: recorded journeys into traces for clients (`zonal lab workload`).
- `summary`: raw samples into latency, deviation, throughput and loss (`zonal lab summary`).
"""

from zonal_lab.jobs.summary import MEASURED, draw_summary, from_lab, summarize
from zonal_lab.jobs.workload import (
    JOURNEYS,
    TRACE,
    assign,
    geolife,
    gtfs_realtime,
    read_plt,
    use_case,
)

__all__ = [
    "JOURNEYS",
    "MEASURED",
    "TRACE",
    "assign",
    "draw_summary",
    "from_lab",
    "geolife",
    "gtfs_realtime",
    "read_plt",
    "summarize",
    "use_case",
]

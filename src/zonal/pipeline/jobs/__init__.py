"""The pipeline's work on Spark: functions from DataFrame to DataFrame, and the job made of them.

- `spark` starts Spark with its `packages` (Delta) and makes `format("zonal")` known to it:
  `source`, that reads it `live` and publishes by its `sink`, with `options`.
- bronze → silver: `batch` says what there is, `decoding` of payloads, `silver`, `doubles`.
- silver → gold: `gold`, which `views` keep current.
- gold → network: `alerting`.
- `stream` is the job that does it all, batch by batch (`interruption` when it is stopped), with
  the lake's `tables` (Delta).
- `fencing`: events at the border of zones, as a fence of a session tells them.
- `delivery_join` says who would have got which message.
"""

from typing import TYPE_CHECKING

from zonal.errors import SparkError
from zonal.face import loaded_late

try:
    import pyspark  # noqa: F401 - said here, once, for all that follows
except ImportError as error:
    raise SparkError("PySpark is not installed: pip install 'zonal[pipeline]'") from error

if TYPE_CHECKING:
    from zonal.pipeline.jobs.alerting import AlertRule, alerts, raise_alerts
    from zonal.pipeline.jobs.decoding import decode
    from zonal.pipeline.jobs.delivery_join import (
        deliveries,
        delivery_counts,
        excess,
        log_messages,
        subscriptions_from_csv,
    )
    from zonal.pipeline.jobs.doubles import deduplicate
    from zonal.pipeline.jobs.fencing import fence_events
    from zonal.pipeline.jobs.gold import WindowPlan, tracks, windows
    from zonal.pipeline.jobs.packages import delta_packages, package_conf
    from zonal.pipeline.jobs.silver import SilverPlan, join_zones, refine
    from zonal.pipeline.jobs.sink import publish_row
    from zonal.pipeline.jobs.spark import check_java, open_spark, register
    from zonal.pipeline.jobs.stream import BatchReport, Pipeline, PipelinePlan
    from zonal.pipeline.jobs.tables import compact, read_log, read_table, vacuum
else:
    __getattr__ = loaded_late(__name__)

__all__ = [
    "AlertRule",
    "BatchReport",
    "Pipeline",
    "PipelinePlan",
    "SilverPlan",
    "WindowPlan",
    "alerts",
    "check_java",
    "compact",
    "decode",
    "deduplicate",
    "deliveries",
    "delivery_counts",
    "delta_packages",
    "excess",
    "fence_events",
    "join_zones",
    "log_messages",
    "open_spark",
    "package_conf",
    "publish_row",
    "raise_alerts",
    "read_log",
    "read_table",
    "refine",
    "register",
    "subscriptions_from_csv",
    "tracks",
    "vacuum",
    "windows",
]

"""The name under which programs of users import `open_spark` and `register` from `jobs`."""

from zonal.pipeline.jobs.spark import open_spark, register

__all__ = ["open_spark", "register"]

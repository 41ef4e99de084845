"""Running many tasks: as a PySpark job that scales out, or one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from zonal_lab.psvr.parts import Row

_MOST_PARTS = 400


def sweep(
    work: Callable[[Row], Row | list[Row]], tasks: Sequence[Row], *, master: str | None = None
) -> list[Row]:
    """All rows of all tasks, on a Spark master, or (None) here, one after the other."""
    answers = [work(task) for task in tasks] if master is None else _on_spark(work, tasks, master)
    return [row for answer in answers for row in (answer if isinstance(answer, list) else [answer])]


def _on_spark(
    work: Callable[[Row], Row | list[Row]], tasks: Sequence[Row], master: str
) -> list[Row | list[Row]]:
    """Few tasks to a part, so that a long one holds up nobody but itself."""
    from zonal.pipeline.jobs import open_spark  # only sweeps need Spark

    spark = open_spark(master, app="zonal psvr", conf={"spark.driver.host": "127.0.0.1"})
    try:
        parts = min(len(tasks), _MOST_PARTS)
        answers: list[Row | list[Row]] = (
            spark.sparkContext.parallelize(list(tasks), parts).map(work).collect()
        )
        return answers
    finally:
        spark.stop()

"""Running many tasks: as a PySpark job that scales out, or one after the other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from zonal_lab.psvr.parts import Row

    Answer = Row | list[Row]

_MOST_PARTS = 400


def sweep(
    work: Callable[[Row], Answer],
    tasks: Sequence[Row],
    *,
    master: str | None = None,
    done: Path | None = None,
) -> list[Row]:
    """All rows of all tasks, on a Spark master, or (None) here, one after the other.

    What is run here is written to the folder `done`, a file for each task, as soon as it is there:
    a sweep over the same tasks that was stopped goes on after the last one that ended.
    """
    if master is not None:
        answers = _on_spark(work, tasks, master)
    else:
        answers = [_once(work, task, done, number) for number, task in enumerate(tasks)]
    return [row for answer in answers for row in (answer if isinstance(answer, list) else [answer])]


def _once(work: Callable[[Row], Answer], task: Row, done: Path | None, number: int) -> Answer:
    if done is None:
        return work(task)
    file = done / f"{number}.json"
    if not file.exists():
        done.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.write_text(json.dumps(work(task)), encoding="utf-8")
        new.replace(file)
    answer: Answer = json.loads(file.read_text(encoding="utf-8"))
    return answer


def _on_spark(work: Callable[[Row], Answer], tasks: Sequence[Row], master: str) -> list[Answer]:
    """Few tasks to a part, so that a long one holds up nobody but itself."""
    from zonal.pipeline.jobs import open_spark  # only sweeps need Spark

    spark = open_spark(master, app="zonal psvr", conf={"spark.driver.host": "127.0.0.1"})
    try:
        parts = min(len(tasks), _MOST_PARTS)
        answers: list[Answer] = (
            spark.sparkContext.parallelize(list(tasks), parts).map(work).collect()
        )
        return answers
    finally:
        spark.stop()

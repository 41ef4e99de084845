"""Running many tasks: as a PySpark job that scales out, or one after the other; and their files."""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress, track

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

Row = dict[str, Any]
"""A task, or what came of it: numbers and words by name."""

_MOST_PARTS = 400


def sweep(
    work: Callable[[Row], Row | list[Row]],
    tasks: Sequence[Row],
    what: str,
    *,
    master: str | None = None,
) -> list[Row]:
    """All rows of all tasks, on a Spark master, or (None) here, one after the other."""
    out = Console(stderr=True)
    began = time.monotonic()
    if master is None:
        answers = [work(task) for task in track(tasks, what, console=out)]
    else:
        answers = _on_spark(work, tasks, what, master, out)
    rows = [row for answer in answers for row in _as_list(answer)]
    out.print(f"{what}: {len(tasks)} tasks, {time.monotonic() - began:.0f} s")
    return rows


def _as_list(answer: Row | list[Row]) -> list[Row]:
    return answer if isinstance(answer, list) else [answer]


def _on_spark(
    work: Callable[[Row], Row | list[Row]],
    tasks: Sequence[Row],
    what: str,
    master: str,
    out: Console,
) -> list[Row | list[Row]]:
    """Few tasks to a part, so that a long one holds up nobody but itself."""
    from pyspark.sql import SparkSession  # only sweeps need Spark

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master(master)
        .appName(f"zonal psvr {what}")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    try:
        parts = min(len(tasks), _MOST_PARTS)
        job = spark.sparkContext.parallelize(list(tasks), parts).map(work)
        return _collected(job, parts, what, out)
    finally:
        spark.stop()


def _collected(job: Any, parts: int, what: str, out: Console) -> list[Row | list[Row]]:
    """All answers of a job whose parts run on all cores there are, with progress meanwhile."""
    tracker = job.context.statusTracker()
    with ThreadPoolExecutor(1) as waiting, Progress(console=out) as progress:
        answers: Future[list[Row | list[Row]]] = waiting.submit(job.collect)
        line = progress.add_task(what, total=parts)
        while not answers.done():
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            done = sum(stage.numCompletedTasks for stage in stages if stage is not None)
            progress.update(line, completed=max(done, progress.tasks[line].completed))
            wait([answers], timeout=0.5)
        progress.update(line, completed=parts)
        return answers.result()


def write_rows(folder: Path, name: str, rows: Iterable[Row], command: str, seed: int) -> None:
    """The data of a figure as CSV, with a manifest that says where it is from."""
    folder.mkdir(parents=True, exist_ok=True)
    found = list(rows)
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, fieldnames=list(found[0]) if found else [])
        writer.writeheader()
        writer.writerows(found)
    manifest = {
        "command": command,
        "seed": seed,
        "rows": len(found),
        "commit": _commit(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    (folder / f"{name}.manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")


def read_rows(path: Path) -> list[Row]:
    """The rows of a CSV file of `write_rows`, numbers and truth values as such."""
    with path.open(newline="", encoding="utf-8") as handle:
        return [{key: _value(text) for key, text in row.items()} for row in csv.DictReader(handle)]


def _value(text: str) -> Any:
    if text in {"True", "False"}:
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"

"""The past: the recorder's log, the history that answers from it, and Spark in its own process."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import threading
from typing import IO, TYPE_CHECKING, Any, Self

import zonal
from zonal.web.demo import topics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_STOP_S = 20.0
_FLUSH_S = 2.0
"""Spark opens every segment: a few large ones are quicker than many small ones."""


def missing() -> str | None:
    """Why nothing is recorded here; None if it can be."""
    try:
        for name in ("recorder", "history", "service"):
            importlib.import_module(f"zonal.pipeline.{name}")
    except ImportError as error:
        return f"no pipeline here ({error})"
    return None


def spark_missing() -> str | None:
    """Why Spark does not run here; None if it can."""
    try:
        importlib.import_module("pyspark")
        importlib.import_module("zonal.pipeline.stream")
        importlib.import_module("zonal.pipeline.spark").check_java()
    except (ImportError, zonal.ZonalError) as error:
        return f"no Spark here ({error})"
    return None


class Past:
    """Records what is live, and answers questions about it."""

    def __init__(self, folder: Path, connect: Sequence[str]) -> None:
        self.log = folder / "log"
        self.lake = folder / "lake"
        self._stack = contextlib.ExitStack()
        config = zonal.config("client", connect=connect)
        recording, answering = (self._stack.enter_context(zonal.open(config)) for _ in range(2))
        from zonal.pipeline.history import History
        from zonal.pipeline.recorder import Recorder, RecorderPlan
        from zonal.pipeline.service import HistoryService

        plan = RecorderPlan(flush_s=_FLUSH_S)
        self._recorder = self._stack.enter_context(
            Recorder(recording, self.log, (topics.LIVE,), plan=plan)
        )
        history = History(log=self.log)
        self._stack.enter_context(HistoryService(answering, history, topics.LIVE))

    @property
    def recorded(self) -> int:
        """Messages in the log."""
        return int(self._recorder.counters.written)

    def close(self) -> None:
        """Make everything durable."""
        self._stack.close()


class SparkJob:
    """Spark, and the job from the log to zones and alerts, in a process of its own.

    A process of its own, because Spark starts slowly and keeps cores busy: nobody waits for it.
    """

    def __init__(
        self, past: Past, zones: Path, connect: Sequence[str], tell: Callable[[str], None]
    ) -> None:
        self._tell = tell
        command = [sys.executable, "-m", "zonal.web.demo.spark_job", str(past.log)]
        command += [str(past.lake), str(zones), ",".join(connect)]
        self.errors = past.log.parent / "spark.log"
        with self.errors.open("w") as errors:
            self._process = self._started(command, errors)
        self._reader = threading.Thread(target=self._read, name="demo-spark", daemon=True)
        self._reader.start()

    @staticmethod
    def _started(command: list[str], errors: IO[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(  # noqa: S603  (our own module)
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,  # Ctrl-C is for us: we end it in good order
        )

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.poll() is not None

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("zonal: "):
                self._tell(line.removeprefix("zonal: ").strip())

    def close(self) -> None:
        """Let the job end its round, then make sure that nothing of it is left."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(5)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def spark_settings() -> dict[str, Any]:
    """Small: the demo shares the machine with everything it shows."""
    return {
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.driver.memory": "1g",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }

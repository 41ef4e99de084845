"""The past: the recorder's log, the history that answers from it, and Spark in its own process."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING, Self

import zonal
from zonal.runtime import ChildProcess
from zonal.web.demo import topics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

SAYS = "zonal: "
"""What stands before a line of the Spark job that is for people."""
TAKES_OVER = "zonal takes over"
"""The line by which the Spark job says that it speaks for the districts from now on."""
FAILED = "no Spark: "
"""What stands before the reason, should Spark not start."""
_STOP_S = 20.0
_FLUSH_S = 2.0
"""Spark opens every file: a few large ones are quicker than many small ones."""


def spark_missing() -> str | None:
    """Why Spark does not run here; None if it can."""
    try:
        from zonal.pipeline.jobs import check_java

        check_java()
    except zonal.ZonalError as error:
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
        from zonal.pipeline import History, HistoryService, Recorder, RecorderPlan

        plan = RecorderPlan(flush_s=_FLUSH_S)
        self._recorder = self._stack.enter_context(
            Recorder(recording, self.log, (topics.LIVE,), plan=plan)
        )
        history = History(log=self.log)
        self._stack.enter_context(HistoryService(answering, history, topics.LIVE))

    @property
    def recorded(self) -> int:
        """Messages in the log."""
        return self._recorder.counters.written

    def close(self) -> None:
        """Make everything durable."""
        self._stack.close()


class SparkJob:
    """Spark, and the job from the log to zones and alerts, in a process of its own.

    A process of its own, because Spark starts slowly and keeps cores busy: nobody waits for it.
    `tell` gets what it says to people, line by line.
    """

    def __init__(
        self, past: Past, zones: Path, connect: Sequence[str], tell: Callable[[str], None]
    ) -> None:
        self._tell = tell
        self.has_taken_over = False
        """Whether it has refined its first messages, and speaks for the districts."""
        self.failure: str | None = None
        """Why Spark did not start, where it said so."""
        self.errors = past.log.parent / "spark.log"
        command = [sys.executable, "-m", "zonal.web.demo.spark_job", str(past.log)]
        command += [str(past.lake), str(zones), ",".join(connect)]
        with self.errors.open("wb") as errors:
            self._process = ChildProcess(command, stderr=errors)
        self._reader = threading.Thread(target=self._read, name="demo-spark", daemon=True)
        self._reader.start()

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone, and all that it said is heard."""
        return self._process.has_ended and not self._reader.is_alive()

    def _read(self) -> None:
        with contextlib.suppress(ValueError):  # closed while it was read
            for line in self._process.stdout:
                text = line.decode().strip()
                if text == TAKES_OVER:
                    self.has_taken_over = True
                elif text.startswith(SAYS + FAILED):
                    self.failure = text.removeprefix(SAYS + FAILED)
                elif text.startswith(SAYS):
                    self._tell(text.removeprefix(SAYS))

    def close(self) -> None:
        """Let the job end its round, then make sure that nothing of it is left."""
        self._process.end(_STOP_S)
        self._reader.join(5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

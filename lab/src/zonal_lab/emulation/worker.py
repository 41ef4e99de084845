"""A process that takes orders and answers, one JSON object a line."""

from __future__ import annotations

import contextlib
import json
import select
import tempfile
import time
from typing import TYPE_CHECKING, Any

from zonal.runtime import ChildProcess
from zonal_lab.errors import EmulationError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Worker:
    """Starts a process and speaks with it; never waits longer than asked.

    Args:
        name: what errors call it.
        command: the program and its arguments.
    """

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed in end()
        self._process = ChildProcess(command, stdin=True, stderr=self._complaints)
        self._heard = b""

    @property
    def pid(self) -> int:
        """The process' number."""
        return self._process.pid

    def say(self, order: dict[str, Any]) -> None:
        """Give an order; an `EmulationError` when the process has ended."""
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise EmulationError(f"{self.name} has ended: {self._last_words()}") from error

    def hear(self, patience_s: float) -> dict[str, Any]:
        """The next answer; an `EmulationError` when the process ends, fails or keeps silent."""
        stdout = self._process.stdout
        deadline = time.monotonic() + patience_s
        while b"\n" not in self._heard:
            ready, _, _ = select.select([stdout], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise EmulationError(
                    f"{self.name} did not answer within {patience_s:g} s: {self._last_words()}"
                )
            chunk = stdout.read1(65_536)  # type: ignore[attr-defined] # a BufferedReader
            if not chunk:
                raise EmulationError(f"{self.name} has ended: {self._last_words()}")
            self._heard += chunk
        line, _, self._heard = self._heard.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise EmulationError(f"{self.name}: {answer['error']}")
        return answer

    def ask(self, order: dict[str, Any], patience_s: float) -> dict[str, Any]:
        """Give an order and wait for its answer."""
        self.say(order)
        return self.hear(patience_s)

    def _last_words(self) -> str:
        self._complaints.seek(0)
        text = self._complaints.read().decode(errors="replace").strip()
        return text[-800:] or "it said nothing"

    def end(self) -> None:
        """Kill the process and what it started, and wait for its end; nothing when done before."""
        self._process.end(grace_s=0)
        with contextlib.suppress(OSError):
            self._complaints.close()

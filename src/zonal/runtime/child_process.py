"""Child processes: started in a session of their own, and surely gone when they are ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GRACE_S = 10.0
"""Seconds that a process has to end in good order before it is killed."""


class ChildProcess:
    """A process of ours with byte pipes for its input and output; use as a context manager.

    It does not see the terminal's Ctrl-C: that is for us, who then end it in order. Whatever it
    has started itself, and that stayed in its process group, ends with it.

    Args:
        command: the program and its arguments.
        stdin: whether it can be written to (`process.stdin`); else it reads nothing.
        stdout: where it writes: a file, or None for a pipe (`process.stdout`).
        stderr: where it complains: a file, or None to share ours.
        environment: variables on top of our own.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdin: bool = False,
        stdout: IO[bytes] | None = None,
        stderr: IO[bytes] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - callers build their commands themselves
            list(command),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE if stdout is None else stdout,
            stderr=stderr,
            env=None if environment is None else os.environ | environment,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The number of the process, which is also that of its group."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.poll() is not None

    @property
    def stdin(self) -> IO[bytes]:
        """Its input, if it was asked for."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """Its output, unless that goes to a file."""
        assert self._process.stdout is not None
        return self._process.stdout

    def end(self, grace_s: float = GRACE_S) -> int:
        """End it: asked first, killed when `grace_s` seconds are over; its exit status."""
        if not self.has_ended and grace_s > 0:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace_s)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        status = self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        return status

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

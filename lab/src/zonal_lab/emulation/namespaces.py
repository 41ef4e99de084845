"""Network namespaces held by file descriptors: they vanish by themselves when the holder dies.

A named namespace (`ip netns add`) outlives the process that made it; one that only a descriptor
holds does not, whatever ends the process, `kill -9` included. Its bridge and cards go with it.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from zonal_lab.errors import EmulationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

_CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
# The kernel kills every started process when the process that started it is gone.
_DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--")


def enter(descriptor: int) -> None:
    """Move the calling thread into a network namespace."""
    if _LIBC.setns(descriptor, _CLONE_NEWNET) != 0:
        raise EmulationError(f"cannot enter a namespace: {os.strerror(ctypes.get_errno())}")


def _in_new_thread(work: Callable[[], None]) -> None:
    """Run where a change of namespace ends with the thread instead of reaching the caller."""
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except (OSError, EmulationError) as error:
            failures.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join()
    if failures:
        raise EmulationError(f"network namespace: {failures[0]}") from failures[0]


@dataclass
class Namespace:
    """A network namespace of its own, with its loopback up and IPv6 off."""

    name: str
    descriptor: int = field(default=-1, init=False)

    def __post_init__(self) -> None:
        _in_new_thread(self._make)
        self.run("ip", "link", "set", "lo", "up")

    def _make(self) -> None:
        if _LIBC.unshare(_CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self.descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        ipv6 = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
        if ipv6.exists():
            ipv6.write_text("1")

    @property
    def path(self) -> str:
        """A path to the namespace that other processes of this machine can open."""
        return f"/proc/{os.getpid()}/fd/{self.descriptor}"

    def command(self, *argv: str) -> list[str]:
        """The command that runs `argv` in here and dies with the calling process."""
        return [*_DIE_WITH_PARENT, "nsenter", f"--net={self.path}", "--", *argv]

    def run(self, *argv: str, given: str | None = None) -> str:
        """Run a short command in here and return what it printed."""
        done = subprocess.run(  # noqa: S603 - fixed commands of iproute2, built in this package
            self.command(*argv),
            input=given,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        if done.returncode != 0:
            raise EmulationError(f"{' '.join(argv)} failed in {self.name}: {done.stderr.strip()}")
        return done.stdout

    def batch(self, program: str, lines: Sequence[str]) -> None:
        """Run many `ip` or `tc` lines in one process."""
        if lines:
            self.run(program, "-batch", "-", given="\n".join(lines) + "\n")

    def close(self) -> None:
        """Let go of the namespace; the kernel removes it when its last process has ended."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

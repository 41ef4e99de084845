"""The command line, imported once: what `command_line.run_zonal` has its processes forked from.

Run as a program it waits for requests on a socket, a line of JSON each. For each it forks a process
of its own, which becomes the command, and answers with the process's number and, when it has ended,
its exit status. What a fresh interpreter does before it runs a command, which is to import the same
modules, takes a hundred times as long as the fork.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


class ReadyZonal:
    """A process that forks commands, one after the other."""

    def __init__(self, environment: dict[str, str]) -> None:
        ours, its = socket.socketpair()
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(its.fileno())], pass_fds=[its.fileno()],
                env=environment, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        self._socket = ours
        self._answers = ours.makefile("rb")

    def close(self) -> None:
        """Start no more."""
        self._answers.close()
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def run(
        self, arguments: list[str], stdin: str, environment: dict[str, str], cwd: str,
        timeout_s: float,
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """Run a command to its end; one that takes too long is killed and raises."""
        with tempfile.TemporaryDirectory(prefix="zonal-command-") as folder:
            files = [Path(folder, name) for name in ("stdin", "stdout", "stderr")]
            files[0].write_text(stdin)
            request = {
                "argv": arguments, "env": environment, "cwd": cwd, "files": [*map(str, files)]
            }  # fmt: skip
            self._socket.settimeout(timeout_s)
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            number = int(self._answers.readline())
            try:
                status = int(self._answers.readline())
            except BaseException:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, 9)
                raise
            return subprocess.CompletedProcess(
                arguments, status, files[1].read_text(), files[2].read_text()
            )


def _serve(connection: socket.socket) -> None:
    """Answer requests; only in a forked process does this return."""
    with connection.makefile("rb") as requests:
        while request := requests.readline():
            if (number := os.fork()) == 0:
                break
            connection.sendall(b"%d\n" % number)
            status = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
            connection.sendall(b"%d\n" % status)
    connection.close()
    if not request:
        os._exit(0)  # nobody asks any more
    _become(json.loads(request))


def _become(request: dict[str, Any]) -> None:
    for number, name in enumerate(request["files"]):
        file = os.open(name, os.O_RDWR | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    named = request["env"]["PYTHONPATH"].split(os.pathsep)
    added = [path for path in named if path not in sys.path]
    sys.path[:0] = [request["cwd"], *added]  # as `python -m` has them
    importlib.invalidate_caches()
    sys.argv = ["zonal", *request["argv"]]


def _load_everything() -> None:
    """What any command imports before it begins."""
    from typer import _adapters  # noqa: F401  (Typer takes it for the first option)

    from zonal.cli.commands import COMMANDS, load_command

    for name in COMMANDS:
        load_command(name)
    gc.collect()
    gc.freeze()  # so that no process looks through, and thereby copies, what it only reads


if __name__ == "__main__":
    from zonal.cli import app

    _load_everything()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    app(prog_name="zonal")

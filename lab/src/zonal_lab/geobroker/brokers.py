"""The systems that are compared, as processes on loopback: our broker, two of them, Mosquitto."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, get_args

from zonal_lab.errors import EmulationError

if TYPE_CHECKING:
    from types import TracebackType

System = Literal["geo", "no-geo", "mosquitto", "federated"]
SYSTEMS: tuple[System, ...] = get_args(System)
TITLES: dict[System, str] = {
    "geo": "geo broker",
    "no-geo": "geo broker, places off",
    "mosquitto": "Mosquitto, clients filter",
    "federated": "two federated geo brokers",
}
_BROKER = "from zonal.cli.broker import app; app()"
_PATIENCE_S = 30.0


class Brokers:
    """Starts a system, and ends its processes when the block ends."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._closing = contextlib.ExitStack()
        self._folder = Path(self._closing.enter_context(tempfile.TemporaryDirectory()))
        self._processes: list[subprocess.Popen[bytes]] = []
        self.ports: list[int] = []

    @property
    def geo(self) -> bool:
        """Whether places are the broker's business, not the clients'."""
        return self.system in {"geo", "federated"}

    def __enter__(self) -> Self:
        try:
            if self.system == "mosquitto":
                self._start_mosquitto()
            elif self.system == "federated":
                meeting = f"tcp/127.0.0.1:{free_port()}"
                self._start_broker("--listen", meeting, "--zenoh-mode", "peer")
                self._start_broker("--connect", meeting, "--zenoh-mode", "peer")
            else:
                self._start_broker("--geo" if self.system == "geo" else "--no-geo")
        except BaseException:
            self._closing.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing.close()

    def cpu_seconds(self) -> float:
        """Processor time that the system's processes have used so far."""
        return sum(_cpu_seconds(process.pid) for process in self._processes)

    def _start_broker(self, *options: str) -> None:
        command = [sys.executable, "-c", _BROKER, "--port", "0", "--sys-interval", "0", *options]
        process, said = self._start(command)
        deadline = time.monotonic() + _PATIENCE_S
        while not (found := re.search(r"mqtt://[^:]+:(\d+)", said.read_text(errors="replace"))):
            if process.poll() is not None or time.monotonic() > deadline:
                raise EmulationError(f"the broker did not start: {said.read_text()[-800:]}")
            time.sleep(0.05)
        self.ports.append(int(found[1]))

    def _start_mosquitto(self) -> None:
        program = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
        port = free_port()
        settings = self._folder / "mosquitto.conf"
        settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
        process, _ = self._start([program, "-c", str(settings)])
        deadline = time.monotonic() + _PATIENCE_S
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise EmulationError("mosquitto did not start: apt-get install mosquitto")
            time.sleep(0.05)
        self.ports.append(port)

    def _start(self, command: list[str]) -> tuple[subprocess.Popen[bytes], Path]:
        """A process and the file of what it says: a pipe that nobody reads would hold it up."""
        said = self._folder / f"{len(self._processes)}.log"
        with said.open("wb") as file:
            process = subprocess.Popen(  # noqa: S603 - commands are built here
                command, stdout=file, stderr=subprocess.STDOUT
            )
        self._processes.append(process)
        self._closing.callback(_end, process)
        return process, said

    def complaints(self) -> str:
        """What the system's processes have said, for those who look for a reason."""
        return "\n".join(file.read_text(errors="replace") for file in self._folder.glob("*.log"))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

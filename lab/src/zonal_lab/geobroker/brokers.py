"""The systems that are compared, as processes on loopback: our broker, two of them, Mosquitto."""

from __future__ import annotations

import contextlib
import re
import socket
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, get_args

from zonal.runtime import ChildProcess
from zonal_lab.errors import EmulationError
from zonal_lab.systems import (
    cpu_seconds_of,
    free_port,
    geo_broker_command,
    mosquitto_command,
    started_router,
)

if TYPE_CHECKING:
    from collections.abc import Callable

System = Literal["geo", "no-geo", "mosquitto", "federated"]
SYSTEMS: tuple[System, ...] = get_args(System)
TITLES: dict[System, str] = {
    "geo": "geo broker",
    "no-geo": "geo broker, places off",
    "mosquitto": "Mosquitto, clients filter",
    "federated": "two federated geo brokers",
}
_HOST = "127.0.0.1"
_PATIENCE_S = 30.0


class Brokers:
    """Starts a system, and ends its processes when the block ends.

    Args:
        system: which.
        zenohd: a program over which brokers meet as its clients; else they are peers.
    """

    def __init__(self, system: System, zenohd: str | None = None) -> None:
        self.system = system
        self._zenohd = zenohd
        self._router_pid: int | None = None
        self._closing = contextlib.ExitStack()
        self._folder = Path(self._closing.enter_context(tempfile.TemporaryDirectory()))
        self._processes: list[ChildProcess] = []
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
                self._start_federated()
            else:
                self._start_broker("--geo" if self.system == "geo" else "--no-geo")
        except BaseException:
            self._closing.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def cpu_seconds(self) -> float:
        """Processor time that the system's processes have used so far."""
        pids = [process.pid for process in self._processes]
        if self._router_pid is not None:
            pids.append(self._router_pid)
        return sum(cpu_seconds_of(each) for each in pids)

    def _start_federated(self) -> None:
        if self._zenohd is None:
            meeting = f"tcp/{_HOST}:{free_port()}"
            self._start_broker("--listen", meeting, "--zenoh-mode", "peer")
            self._start_broker("--connect", meeting, "--zenoh-mode", "peer")
            return
        router = started_router(zenohd=self._zenohd)
        self._router_pid, meeting = self._closing.enter_context(router)
        for _ in range(2):
            self._start_broker("--connect", meeting, "--zenoh-mode", "client")

    def _start_broker(self, *options: str) -> None:
        said = self._start(geo_broker_command(_HOST, 0, *options))
        self.ports.append(self._wait(lambda: _port_in(said), said))

    def _start_mosquitto(self) -> None:
        port = free_port()
        try:
            said = self._start(mosquitto_command(_HOST, port, self._folder))
        except FileNotFoundError as error:
            raise EmulationError("there is no mosquitto: apt-get install mosquitto") from error
        self.ports.append(self._wait(lambda: port if _answers(port) else None, said))

    def _start(self, command: list[str]) -> Path:
        """Start a process; the file of what it says: a pipe that nobody reads would hold it up."""
        said = self._folder / f"{len(self._processes)}.log"
        with said.open("wb") as file:
            process = ChildProcess(command, stdout=file, stderr=file)
        self._processes.append(process)
        self._closing.callback(process.end)
        return said

    def _wait(self, port: Callable[[], int | None], said: Path) -> int:
        """The port of the process that was started last, once it serves."""
        deadline = time.monotonic() + _PATIENCE_S
        while (found := port()) is None:
            if self._processes[-1].has_ended or time.monotonic() > deadline:
                words = said.read_text(errors="replace")[-800:]
                raise EmulationError(f"{self.system} did not start: {words or 'it said nothing'}")
            time.sleep(0.05)
        return found


def _port_in(said: Path) -> int | None:
    found = re.search(r"mqtt://[^:]+:(\d+)", said.read_text(errors="replace"))
    return int(found[1]) if found else None


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((_HOST, port), 1):
        return True
    return False

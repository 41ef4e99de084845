"""A broker as a process of its own, on a free port, for tests with real clients."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

SOURCE = Path(__file__).parents[2] / "src"


class BrokerProcess:
    """Runs `zonal broker` with the given arguments; ends it when the block ends."""

    def __init__(self, *arguments: str, port: int = 0) -> None:
        self._arguments = ["--port", str(port), *arguments]
        self.process: subprocess.Popen[str]
        self.ports: dict[str, int] = {}
        self.output = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "zonal", "broker", *self._arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:  # a client that waits may be told of before the ports
            self.output += line
            found = re.findall(r"(mqtts?|wss?)://[^:]+:(\d+)", line)
            if found:
                self.ports = {name: int(port) for name, port in found}
                break
        else:
            self.process.wait(10)
            raise RuntimeError(f"the broker did not start: {self.output}")
        threading.Thread(target=self._read, args=(self.process,), daemon=True).start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.output += line

    @property
    def port(self) -> int:
        return self.ports["mqtt"]

    def kill(self) -> None:
        """`kill -9`: no goodbye, nothing flushed."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()

"""Mosquitto's command-line clients in the background, with conditions instead of sleeps."""

from __future__ import annotations

import subprocess
import threading


class Listening:
    """`mosquitto_sub` in the background, waited for until its subscription stands."""

    def __init__(self, port: int, *arguments: str) -> None:
        command = ["mosquitto_sub", "-p", str(port), "-d", "-W", "15", *arguments]
        self._process = subprocess.Popen(
            ["stdbuf", "-oL", *command], stdout=subprocess.PIPE, text=True
        )
        self.lines: list[str] = []
        self._subscribed = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._subscribed.wait(10)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if "SUBACK" in line or line.startswith("Subscribed"):
                self._subscribed.set()
            elif not line.startswith(("Client ", "Subscribed")):
                self.lines.append(line.rstrip("\n"))

    def finish(self) -> list[str]:
        self._process.wait(20)
        self._reader.join(5)
        return self.lines

"""The commands that start MQTT brokers: Mosquitto as it is installed, and our geo broker."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MOSQUITTO_PORT, BROKER_PORT = 1883, 1884
USER, PASSWORD = "lab", "lab"


def geo_broker_command(host: str, port: int, *options: str) -> list[str]:
    """`zonal broker` on an address, without $SYS figures; port 0 is any free one.

    On an address that others can reach it needs `--passwords` (see `write_passwords`).
    """
    address = ["--host", host, "--port", str(port), "--sys-interval", "0"]
    return [sys.executable, "-m", "zonal", "broker", *address, *options]


def write_passwords(folder: Path) -> Path:
    """A password file of our broker with `USER`, in a folder."""
    from zonal.broker import set_password

    path = folder / "passwords"
    set_password(path, USER, PASSWORD.encode())
    return path


def mosquitto_command(host: str, port: int, folder: Path) -> list[str]:
    """Mosquitto on an address, open to everybody; its settings are written into the folder."""
    settings = folder / f"mosquitto-{host}-{port}.conf"
    settings.write_text(f"listener {port} {host}\nallow_anonymous true\n", encoding="utf-8")
    return [_mosquitto(), "-c", str(settings)]


def mosquitto_version() -> str:
    """The version of the Mosquitto that is installed, or that there is none."""
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program
            [_mosquitto(), "-h"], capture_output=True, text=True, timeout=10, check=False
        )
    except OSError:
        return "not installed"
    found = re.search(r"version (\S+)", done.stdout)
    return found[1] if found else "unknown"


def _mosquitto() -> str:
    # Debian installs it where the path of an ordinary user does not lead.
    return shutil.which("mosquitto") or "/usr/sbin/mosquitto"

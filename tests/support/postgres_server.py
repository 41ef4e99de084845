"""A PostgreSQL server for tests: Debian's, in a folder of its own, on a socket in that folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg


def programs() -> Path:
    """Where Debian has the server's programs."""
    return max(Path("/usr/lib/postgresql").glob("*/bin"))


def _as_its_user(*command: str) -> list[str]:
    """PostgreSQL refuses to run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.getuid() == 0 else list(command)


@contextlib.contextmanager
def postgres_server() -> Iterator[str]:
    """A server that runs; the address of an empty database."""
    folder = Path(tempfile.mkdtemp(prefix="zonal-pg-", dir="/tmp"))
    data = folder / "data"
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    bin_ = programs()
    subprocess.run(
        _as_its_user(str(bin_ / "initdb"), "-D", str(data), "-U", "zonal", "-A", "trust", "-N"),
        check=True, capture_output=True,
    )  # fmt: skip
    server = subprocess.Popen(
        _as_its_user(
            str(bin_ / "postgres"), "-D", str(data), "-k", str(folder), "-c", "fsync=off",
            "-c", "listen_addresses=", "-c", "shared_buffers=16MB",
        ),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"postgresql://zonal@/postgres?host={folder}"
    try:
        _wait(url)
        yield url
    finally:
        server.terminate()
        server.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(url: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def emptied(url: str) -> str:
    """The same database, with nothing of a broker's in it."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS zonal_broker CASCADE")
    return url

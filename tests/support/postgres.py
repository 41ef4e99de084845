"""A PostgreSQL server of the tests' own: Debian's, in a folder, reached by a socket in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER = "postgres"
"""The server refuses to run as root; Debian's package makes this user."""


def programs() -> Path | None:
    """The folder of the newest server that is installed with PostGIS."""
    found = sorted(Path("/usr/share/postgresql").glob("*/extension/postgis.control"))
    return Path("/usr/lib/postgresql") / found[-1].parts[4] / "bin" if found else None


@contextmanager
def postgres_server() -> Iterator[str]:
    """Runs for as long as the block lasts; gives the address of its database."""
    folder = programs()
    assert folder is not None
    # Not below pytest's own folder, which is closed to other users; sockets' paths are short.
    data = Path(tempfile.mkdtemp(prefix="zpg"))
    as_user: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(data, USER)
        as_user = ["runuser", "-u", USER, "--"]
    initdb = [folder / "initdb", "-D", data / "db", "-A", "trust", "-U", USER, "-E", "UTF8"]
    subprocess.run([*as_user, *initdb, "--no-sync", "--locale=C"], check=True, capture_output=True)
    settings = f"-c listen_addresses= -c unix_socket_directories={data} -c fsync=off"
    control = [*as_user, folder / "pg_ctl", "-D", data / "db", "-w"]
    start = [*control, "-o", settings, "-l", data / "log", "start"]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL, cwd="/")
    try:
        yield f"postgresql:///postgres?host={data}&user={USER}"
    finally:
        stop = [*control, "-m", "immediate", "stop"]
        subprocess.run(stop, check=True, stdout=subprocess.DEVNULL, cwd="/")
        shutil.rmtree(data)


def emptied(url: str) -> str:
    """The same database, with nothing of a broker's in it."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS zonal_broker CASCADE")
    return url

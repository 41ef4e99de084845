"""`zenohd`, Zenoh's own router program, as a process of a router's role."""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import zenoh

from zonal_lab.errors import EmulationError
from zonal_lab.systems.nodes import node_config

_ASK_S = 5.0


class Zenohd:
    """A process of `zenohd` that listens; it stays in our process group, and ends with it.

    Args:
        program: where it is.
        settings: Zenoh's, of a router (`node_settings`); the first endpoint that it listens on is
            asked for what it knows of its links.
    """

    def __init__(self, program: str, settings: dict[str, Any]) -> None:
        self.zid = f"{secrets.randbits(120) | 1 << 120:x}"
        self._endpoint = settings["listen"]["endpoints"][0]
        self._folder = tempfile.TemporaryDirectory(prefix="zonal-zenohd-")
        path = Path(self._folder.name) / "zenohd.json5"
        admin = {"adminspace": {"enabled": True, "permissions": {"read": True}}}
        path.write_text(json.dumps(settings | {"id": self.zid} | admin), encoding="utf-8")
        self._process = subprocess.Popen(  # noqa: S603 - a program that was named
            [program, "-c", str(path)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={"RUST_LOG": "error"},
        )  # fmt: skip
        try:
            self.routers()  # listens by now
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def routers(self) -> int:
        """To how many routers it is linked, as its admin space says."""
        with zenoh.open(node_config("client", connect=[self._endpoint])) as session:
            for reply in session.get(f"@/{self.zid}/router", timeout=_ASK_S):
                if reply.ok is not None:
                    known = json.loads(reply.ok.payload.to_bytes())
                    return sum(each["whatami"] == "router" for each in known["sessions"])
        raise EmulationError(f"zenohd at {self._endpoint} does not say what it is linked to")

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()


def router_words(program: str | None) -> dict[str, str]:
    """Which router a run has, for the data that its manifest names; nothing for the library's."""
    return {} if program is None else {"router": f"{zenohd_version(program)}, a process of its own"}


def zenohd_version(program: str) -> str:
    """What a `zenohd` calls itself; an `EmulationError` where it does not start."""
    try:
        done = subprocess.run(  # noqa: S603 - a program that was named
            [program, "--version"], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EmulationError(f"{program} does not start: {error}") from error
    found = re.search(r"\d+\.\d+\.\d+", done.stdout)
    return f"zenohd {found[0]}" if found else "zenohd"

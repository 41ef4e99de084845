"""For the operator: a control socket, for this user alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonal.broker import reason_codes
from zonal.errors import BrokerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.broker.core import Broker
    from zonal.broker.server import Server

LONGEST = 70_000
PATIENCE = 5.0


def control_folder() -> Path:
    """Where brokers of this user have their control sockets."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    base = Path(runtime) if runtime else Path(tempfile.gettempdir()) / f"zonal-{os.getuid()}"
    return base / "zonal-brokers"


def bound(path: Path) -> socket.socket:
    """A Unix socket at this path, for this user alone; what was left there is replaced."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.parent.stat().st_uid != os.getuid():
        raise BrokerError(f"{path.parent} is another user's")
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind(str(path))
    except OSError as error:
        listening.close()
        raise BrokerError(f"{path} cannot be a control socket: {error}") from error
    path.chmod(0o600)
    return listening


class Operation:
    """What an operator can see and do while a broker runs."""

    def __init__(self, broker: Broker, server: Server, clock: Callable[[], float]) -> None:
        self._broker = broker
        self._server = server
        self._clock = clock
        self._servers: list[asyncio.Server] = []
        self._path: Path | None = None

    async def control(self, path: Path) -> None:
        """Takes commands on a Unix socket that only this user can open."""
        listening = bound(path)
        self._path = path
        self._servers.append(await asyncio.start_unix_server(self._command, sock=listening))

    async def close(self) -> None:
        """Takes no more commands."""
        for server in self._servers:
            server.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    async def _command(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One line of JSON in, one out."""
        with contextlib.suppress(ConnectionError, TimeoutError, ValueError):
            async with asyncio.timeout(PATIENCE):
                line = await reader.readline()
                asked = json.loads(line)
                answer = self.perform(asked if isinstance(asked, dict) else {})
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        writer.close()

    def perform(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Does what a command says."""
        now = self._clock()
        if asked.get("do") == "status":
            return self._broker.figures.status(now)
        if asked.get("do") == "kick":
            return {"kicked": self._kick(str(asked.get("client")), now)}
        return {"error": "there are: status, kick"}

    def _kick(self, client_id: str, now: float) -> bool:
        """Disconnects a client and ends its session; whether there was one."""
        session = self._broker.sessions.get(client_id)
        if session is None:
            return False
        if session.connection is not None:
            self._broker.drop(
                session.connection, reason_codes.ADMINISTRATIVE_ACTION, "by the operator", now
            )
        if self._broker.sessions.get(client_id) is session:
            self._broker.end(session, now)
        self._server.schedule()
        return True


def ask_broker(command: dict[str, Any], path: Path) -> dict[str, Any]:
    """Has a broker do something: that of a control socket, or the only one in a folder."""
    if path.is_dir():
        found = sorted(path.glob("*.sock"))
        if len(found) != 1:
            names = ", ".join(map(str, found)) or "none"
            raise BrokerError(f"name a control socket with --control; there are: {names}")
        (path,) = found
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        try:
            connection.connect(str(path))
            connection.sendall(json.dumps(command).encode() + b"\n")
            answer = b"".join(iter(lambda: connection.recv(LONGEST), b""))
        except OSError as error:
            raise BrokerError(f"no broker answers at {path}: {error}") from error
    found_answer: dict[str, Any] = json.loads(answer)
    return found_answer

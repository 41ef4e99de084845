"""A client of servers that speak RESP (Redis, Tile38): commands out, answers in, many at once."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from zonal_lab.errors import EmulationError

if TYPE_CHECKING:
    from collections.abc import Iterable

_CHUNK = 1 << 16


class RespClient:
    """One connection; an answer that is an error is raised as an `EmulationError`."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 10)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(60)
        self._heard = bytearray()
        self._at = 0

    def call(self, *words: object) -> Any:
        """One command and its answer."""
        self._socket.sendall(command(words))
        return self.answer()

    def send(self, commands: Iterable[tuple[object, ...]]) -> int:
        """Commands in one write; how many answers are to come."""
        packed = [command(words) for words in commands]
        self._socket.sendall(b"".join(packed))
        return len(packed)

    def answers(self, count: int) -> None:
        """Wait for so many answers."""
        for _ in range(count):
            self.answer()

    def answer(self) -> Any:
        """The next answer: text, number, list or None."""
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise EmulationError(f"the server says: {rest.decode(errors='replace')}")
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self._exactly(int(rest))
        if kind == b"*":
            return None if rest == b"-1" else [self.answer() for _ in range(int(rest))]
        return rest

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _line(self) -> bytes:
        while (end := self._heard.find(b"\r\n", self._at)) < 0:
            self._read()
        line = bytes(self._heard[self._at : end])
        self._at = end + 2
        return line

    def _exactly(self, size: int) -> bytes:
        while len(self._heard) < self._at + size + 2:
            self._read()
        found = bytes(self._heard[self._at : self._at + size])
        self._at += size + 2
        return found

    def _read(self) -> None:
        del self._heard[: self._at]
        self._at = 0
        chunk = self._socket.recv(_CHUNK)
        if not chunk:
            raise EmulationError("the server closed the connection")
        self._heard += chunk


def command(words: tuple[object, ...]) -> bytes:
    """A command as it is sent."""
    parts = [each if isinstance(each, bytes) else str(each).encode() for each in words]
    heads = b"".join(b"$%d\r\n%s\r\n" % (len(each), each) for each in parts)
    return b"*%d\r\n%s" % (len(parts), heads)

"""Figures for Prometheus: its text format (version 0.0.4), and a small door to fetch them by."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from zonal.errors import ConfigurationError, NetworkError
from zonal.runtime.loopback import is_loopback
from zonal.runtime.port import check_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

logger = logging.getLogger(__name__)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PATIENCE_S = 5.0


class Family(NamedTuple):
    """One metric: its kind (`counter` or `gauge`), what it counts, and the names of its labels."""

    kind: str
    text: str
    labels: tuple[str, ...] = ()

    def shown(self, name: str) -> str:
        """The metric's name as Prometheus wants it."""
        return f"{name}_total" if self.kind == "counter" else name


def figures(name: str, family: Family, values: Mapping[tuple[str, ...], float]) -> Iterator[str]:
    """The lines of a metric; its values by those of its labels."""
    shown = family.shown(name)
    if family.text:
        yield f"# HELP {shown} {family.text}"
    yield f"# TYPE {shown} {family.kind}"
    for labels, value in sorted(values.items()):
        yield f"{shown}{_labels(family.labels, labels)} {_number(value)}"


def figures_of(prefix: str, told: Iterable[tuple[str, str, str, float]]) -> str:
    """Figures without labels as a page: name, kind, what it counts, value."""
    lines: list[str] = []
    for name, kind, text, value in told:
        lines.extend(figures(f"{prefix}_{name}", Family(kind, text), {(): value}))
    return "\n".join(lines) + "\n"


def counted(prefix: str, counters: Any, **gauges: float) -> str:
    """The fields of a dataclass of counters as a page, with those that are no counters beside."""
    told = asdict(counters).items()
    counts = [(name, "counter", "", value) for name, value in told if name not in gauges]
    return figures_of(prefix, [*counts, *((name, "gauge", "", v) for name, v in gauges.items())])


def _labels(names: Iterable[str], values: Iterable[str]) -> str:
    pairs = [f'{name}="{_escape(value)}"' for name, value in zip(names, values, strict=True)]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


class MetricsDoor(NamedTuple):
    """Where figures are served, and the token that is asked for, if any."""

    host: str
    port: int
    token: str | None = None

    @classmethod
    def read(cls, text: str, token_file: Path | None = None, *, insecure: bool = False) -> Self:
        """A port, or `host:port`, and a file whose first line is the token.

        Raises `ConfigurationError` where they are wrong, and for a host beyond this machine
        without a token unless that is meant so.
        """
        host, _, port = text.rpartition(":")
        host = host.strip("[]") or "127.0.0.1"
        number = check_port(port)
        token = None if token_file is None else _first_line(token_file)
        if token is None and not insecure and not is_loopback(host):
            raise ConfigurationError(
                f"figures would be for anybody on {host}: give a token file, or say that it is "
                "meant so (insecure)"
            )
        return cls(host, number, token)


def _first_line(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8").split("\n", 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {path}: {error}") from error
    if not lines[0].strip():
        raise ConfigurationError(f"{path} has no token in its first line")
    return lines[0].strip()


class MetricsServer:
    """Answers `GET /metrics` with what `page` gives, a request a connection.

    In an event loop: `await server.start()`, `server.close()`; elsewhere it is a context manager
    with a thread of its own.
    """

    def __init__(self, door: MetricsDoor, page: Callable[[], str]) -> None:
        self._door = door
        self._page = page
        self._server: asyncio.Server | None = None
        self._ended = threading.Event()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="zonal-metrics", daemon=True)
        self._failure: Exception | None = None
        self.port = 0

    async def start(self) -> int:
        """Serve in this event loop; the port."""
        try:
            self._server = await asyncio.start_server(
                self._answer, self._door.host, self._door.port
            )
        except OSError as error:
            where = f"{self._door.host}:{self._door.port}"
            raise NetworkError(f"cannot serve figures on {where}: {error.strerror}") from error
        self.port = cast("int", self._server.sockets[0].getsockname()[1])
        told = {"event": "serves figures", "address": f"{self._door.host}:{self.port}"}
        logger.info("figures are served on http://%(address)s/metrics", told)
        return self.port

    def close(self) -> None:
        """Serve no more."""
        if self._server is not None:
            self._server.close()

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._until_ended())

    async def _until_ended(self) -> None:
        try:
            await self.start()
        except NetworkError as error:
            self._failure = error
            return
        finally:
            self._started.set()
        while not self._ended.is_set():  # noqa: ASYNC110 - set by another thread
            await asyncio.sleep(0.05)
        self.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError, ValueError, EOFError):
            async with asyncio.timeout(_PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                status, body = self._respond(head)
                data = body.encode()
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE}\r\n"
                    f"Content-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode()
                    + data
                )
                await writer.drain()
        writer.close()

    def _respond(self, head: bytes) -> tuple[str, str]:
        if not head.startswith((b"GET /metrics ", b"GET /metrics?")):
            return "404 Not Found", "see /metrics\n"
        if self._door.token is not None and not self._knows(head):
            return "401 Unauthorized", "Authorization: Bearer <token>\n"
        return "200 OK", self._page()

    def _knows(self, head: bytes) -> bool:
        lines = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
        given = next((v.strip() for n, _, v in lines if n.lower() == b"authorization"), b"")
        wanted = f"Bearer {self._door.token}".encode()
        return hmac.compare_digest(given, wanted)

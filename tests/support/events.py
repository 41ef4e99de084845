"""A reader of server-sent events, in a thread, that tests can wait on."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import socket
import ssl
import threading
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit


class Event(NamedTuple):
    name: str
    data: Any


class EventReader:
    """Opens a stream; look at `response.status` and `response.headers` where they matter."""

    def __init__(self, url: str, token: str = "", trusted: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        if trusted is None:
            self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        else:
            self._connection = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=60, context=trusted
            )
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        headers = {"accept": "text/event-stream"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        self._connection.request("GET", target, headers=headers)
        assert self._connection.sock is not None
        self._socket: socket.socket = self._connection.sock
        self.response = self._connection.getresponse()
        self._events: queue.Queue[Event | None] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        name = ""
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            while line := self.response.readline().decode():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ").strip()
                elif line.startswith("data: "):
                    self._events.put(Event(name, json.loads(line.removeprefix("data: "))))
        self._events.put(None)

    def next(self, timeout: float = 15.0) -> Event:
        event = self._events.get(timeout=timeout)
        assert event is not None, "the stream ended"
        return event

    def next_named(self, *names: str, timeout: float = 15.0) -> Event:
        while True:
            event = self.next(timeout)
            if event.name in names:
                return event

    def ended(self, timeout: float = 15.0) -> bool:
        while self._events.get(timeout=timeout) is not None:
            pass
        return True

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._thread.join(5)
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

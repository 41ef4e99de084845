"""The application on the network: uvicorn, in this thread or in one of its own."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from typing import TYPE_CHECKING, Any, Self

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from zonal.errors import WebError
from zonal.web.application import Application
from zonal.web.rest import DISCONNECT, WRITE

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from zonal.session import Session
    from zonal.web.meter import Meter
    from zonal.web.options import WebOptions

logger = logging.getLogger(__name__)

_START_S = 30.0
_GRACE_S = 3


class _Protocol(HttpToolsProtocol):
    """Lets the application write events without a task, and end a connection that takes nothing."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        own = {DISCONNECT: self.transport.abort, WRITE: self._write_now}
        self.scope["extensions"] = own  # type: ignore[typeddict-item]

    def _write_now(self, chunk: bytes) -> bool:
        if self.flow.write_paused or self.transport.is_closing():
            return False
        self.transport.write(chunk)
        return True


class _Uvicorn(uvicorn.Server):
    """Ends the event streams before it waits for connections to end."""

    def __init__(self, config: uvicorn.Config, application: Application) -> None:
        super().__init__(config)
        self._application = application
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._application.feeds.close()
        await super().shutdown(sockets)


class WebServer:
    """REST, live events and the map on a session: a context manager, or `run()` until stopped."""

    def __init__(self, session: Session, options: WebOptions, meter: Meter | None = None) -> None:
        self.options = options
        self.application = Application(session, options, meter)
        self._socket = _listen(options)
        self._uvicorn = _Uvicorn(_config(self.application, options), self.application)
        self._thread: threading.Thread | None = None

    def use(self, application: ASGIApp) -> None:
        """Serve another application in the same way; for measurements, before the start."""
        self._uvicorn.config = _config(application, self.options)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._socket.getsockname()[1])

    @property
    def url(self) -> str:
        """The address to open in a browser."""
        host = self.options.host if self.options.host not in {"0.0.0.0", "::"} else "localhost"  # noqa: S104
        host = f"[{host}]" if ":" in host else host
        return f"{'https' if self.options.certificate else 'http'}://{host}:{self.port}"

    def run(self) -> None:
        """Serve in this thread until it is interrupted."""
        # uvicorn ends in good order on Ctrl-C, and then raises it once more.
        with contextlib.closing(self._socket), contextlib.suppress(KeyboardInterrupt):
            self._uvicorn.run(sockets=[self._socket])

    def start(self) -> Self:
        """Serve in a thread."""
        self._thread = threading.Thread(target=self.run, name="zonal-web", daemon=True)
        self._thread.start()
        while not self._uvicorn.ready.wait(0.05):
            if not self._thread.is_alive():
                raise WebError("the web server did not start; its log says why")
        return self

    def stop(self) -> None:
        """End all streams, then the server; safe to call twice."""
        self._uvicorn.should_exit = True
        if self._thread is not None:
            self._thread.join(_GRACE_S + 5)
            self._thread = None
        self._socket.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _listen(options: WebOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((options.host, options.port))
    except OSError as error:
        listener.close()
        raise WebError(
            f"cannot listen on {options.host} port {options.port}: {error.strerror}; "
            "choose another with --port (0 takes a free one)"
        ) from error
    listener.set_inheritable(False)
    return listener


def _config(application: ASGIApp, options: WebOptions) -> uvicorn.Config:
    settings: dict[str, Any] = {
        "http": _Protocol,
        "ws": "none",
        "lifespan": "on",
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "date_header": False,
        "proxy_headers": False,
        "timeout_graceful_shutdown": _GRACE_S,
        "backlog": 4096,
    }
    if options.certificate is not None:
        settings["ssl_certfile"] = str(options.certificate)
        settings["ssl_keyfile"] = str(options.key)
    return uvicorn.Config(application, **settings)

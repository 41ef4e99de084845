"""The application on the network: uvicorn, in this thread or in one of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING, Any, Self

import uvicorn
import uvloop

from zonal.errors import WebError
from zonal.runtime import check_port
from zonal.web.application import Application
from zonal.web.doorway import Doorway

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp

    from zonal.session import Session
    from zonal.trust import Rules
    from zonal.web.grants import WebGrant
    from zonal.web.meter import Meter
    from zonal.web.options import WebOptions

_GRACE_S = 3
_BACKLOG = 4096
_LOOK_S = 0.05
"""How often it is looked whether uvicorn has started, or is asked to end."""


class WebServer:
    """REST, live events and the map on a session: a context manager, or `run()` until stopped."""

    def __init__(self, session: Session, options: WebOptions, meter: Meter | None = None) -> None:
        self.options = options
        self.application = Application(session, options, meter)
        self._socket = _listen(options)
        self._uvicorn = Doorway(
            self._config(self.application),
            options.limits,
            self.application.visitors,
            self.application.connections,
        )
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def serve_instead(self, application: ASGIApp) -> None:
        """Serve another application in the same way; for measurements, before the start."""
        self._uvicorn.config = self._config(application)

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

    def use(self, tokens: Iterable[WebGrant], rules: Rules | None = None) -> None:
        """Take other tokens and rules from now on, from any thread; what they end, ends."""
        if self._loop is None:
            self.application.use(tokens, rules)
        else:
            self._loop.call_soon_threadsafe(self.application.use, tuple(tokens), rules)

    def read_certificate(self) -> None:
        """Show the certificate that is in the files now to whoever connects from now on."""
        config = self._config(self.application)
        try:
            config.load()
        except (OSError, ssl.SSLError) as error:
            raise WebError(f"the certificate or its key cannot be used: {error}") from error
        self._uvicorn.config.ssl = config.ssl

    def run(self) -> None:
        """Serve in this thread until it is interrupted."""
        # uvicorn ends in good order on Ctrl-C, and then raises it once more.
        with (
            contextlib.closing(self._socket),
            contextlib.suppress(KeyboardInterrupt),
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        closing = asyncio.create_task(self._close_streams())
        try:
            await self._uvicorn.serve(sockets=[self._socket])
        finally:
            closing.cancel()

    async def _close_streams(self) -> None:
        """End the event streams when uvicorn is asked to end: it waits for all connections."""
        while not self._uvicorn.should_exit:  # noqa: ASYNC110  (uvicorn has no event for it)
            await asyncio.sleep(_LOOK_S)
        await self.application.feeds.close()

    def start(self) -> Self:
        """Serve in a thread."""
        self._thread = threading.Thread(target=self.run, name="zonal-web", daemon=True)
        self._thread.start()
        while not self._uvicorn.started:
            if not self._thread.is_alive():
                raise WebError("the web server did not start; its log says why")
            time.sleep(_LOOK_S)
        return self

    def stop(self) -> None:
        """End all streams, then the server; safe to call twice."""
        self._uvicorn.should_exit = True
        if self._thread is not None:
            self._thread.join(_GRACE_S + 5)
            self._thread = None
        self._socket.close()

    def _config(self, application: ASGIApp) -> uvicorn.Config:
        settings: dict[str, Any] = {
            "ws": "none",
            "lifespan": "on",
            "log_config": None,  # it joins our log
            "access_log": False,
            "server_header": False,
            "date_header": False,
            "proxy_headers": False,
            "timeout_graceful_shutdown": _GRACE_S,
            "backlog": _BACKLOG,
        }
        if self.options.certificate is not None:
            settings["ssl_certfile"] = str(self.options.certificate)
            settings["ssl_keyfile"] = str(self.options.key)
        return uvicorn.Config(application, **settings)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _listen(options: WebOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((options.host, check_port(options.port)))
        listener.listen(_BACKLOG)  # whoever comes now waits until it has started
    except OSError as error:
        listener.close()
        raise WebError(
            f"cannot listen on {options.host} port {options.port}: {error.strerror}; "
            "choose another with --port (0 takes a free one)"
        ) from error
    listener.set_inheritable(False)
    return listener

"""A web server on a real router, as tests of the web see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import httpx

from zonal.session import Router, Session
from zonal.web import WebServer


@dataclass(frozen=True)
class Web:
    router: Router
    server: WebServer
    http: httpx.Client
    session: Session
    """The server's own."""
    sensor: Session
    """Another client of the router, without a position."""

    @property
    def url(self) -> str:
        return self.server.url

    def metric(self, name: str) -> float:
        for line in self.http.get("/metrics").text.splitlines():
            if line.startswith(f"{name} "):
                return float(line.rpartition(" ")[2])
        return 0.0


WebWith: TypeAlias = Callable[..., Web]

"""The whole web application: REST for keys, and beside it the page, its data, and the counters."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import zonal
from zonal.errors import ZonalError
from zonal.geo import Box
from zonal.keys import encodings
from zonal.web.access import WebAccess
from zonal.web.exchange import Exchange
from zonal.web.feed import Feeds
from zonal.web.leaflet import leaflet_folder
from zonal.web.metrics import Metrics
from zonal.web.openapi import document, document_page
from zonal.web.overlay import cover_of, grid_of, routers
from zonal.web.parameters import read_parameters
from zonal.web.problem import Problem, problem_of
from zonal.web.rest import Rest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from zonal.session import Session
    from zonal.web.connections import Connections
    from zonal.web.meter import Meter
    from zonal.web.options import WebOptions

PAGE = Path(__file__).parent / "page"
RESERVED = "/-/"
"""Paths under this prefix (and `/`, `/metrics`) are no keys."""


class Application:
    """An ASGI application on a session; `zonal.web.server` puts it on the network."""

    def __init__(self, session: Session, options: WebOptions, meter: Meter | None = None) -> None:
        self.options = options
        self.metrics = Metrics(options.limits.topics_in_metrics)
        self.access = WebAccess(options)
        self._session = session
        self._meter = meter
        self.feeds = Feeds(session, options.limits, self.metrics, meter)
        self.connections: Connections = {}
        """Those that the server has open, if it tells."""
        self._rest = Rest(
            session, self.feeds, self.access, self.metrics, options.limits, self.connections
        )
        self._pages: ASGIApp = Starlette(
            routes=self._routes(),
            lifespan=self._lifespan,
            exception_handlers={ZonalError: _show_problem},
        )
        self._app: ASGIApp = self._dispatch
        if options.cors_origins:
            self._app = CORSMiddleware(
                self._dispatch,
                allow_origins=options.cors_origins,
                allow_methods=["GET", "PUT", "POST", "DELETE"],
                allow_headers=["authorization", "content-type"],
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection of the server."""
        await self._app(scope, receive, send)

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._pages(scope, receive, send)
            return
        path: str = scope["path"]
        request = Exchange(scope, receive, send)
        if not (path.startswith(RESERVED) or path in {"/", "/metrics"}):
            await self._rest.answer(request)
            return
        try:
            self.access.check_host(request.headers)
        except Problem as problem:
            await request.respond_problem(problem)
        else:
            await self._pages(scope, receive, send)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self.feeds.start()
        yield
        await self.feeds.close()

    def _routes(self) -> list[Route | Mount]:
        return [
            Route("/", self._page),
            Route("/metrics", self._metrics_page),
            Route("/-/view", self._view),
            Route("/-/grid", self._grid),
            Route("/-/cover", self._cover),
            Route("/-/routers", self._routers),
            Route("/-/layers/{number:int}", self._layer),
            Route("/-/openapi.json", self._openapi),
            Route("/-/docs", self._docs),
            Mount("/-/leaflet", StaticFiles(directory=leaflet_folder())),
            Mount("/-/page", StaticFiles(directory=PAGE)),
        ]

    async def _page(self, _: Request) -> Response:
        return FileResponse(PAGE / "index.html", headers=self._page_headers())

    def _page_headers(self) -> dict[str, str]:
        tiles = self.options.view.tiles.partition("/{")[0].replace("{s}", "*")
        policy = f"default-src 'self'; img-src 'self' data: {tiles}; base-uri 'none'"
        return {"content-security-policy": policy, "cache-control": "no-cache"}

    async def _metrics_page(self, _: Request) -> Response:
        return Response(
            self.metrics.to_text(), media_type="text/plain; version=0.0.4; charset=utf-8"
        )

    async def _view(self, _: Request) -> Response:
        view = self.options.view
        return JSONResponse(
            {
                **asdict(view),
                "version": zonal.__version__,
                "center": [view.latitude, view.longitude],
                "layers": [name for name, _ in view.layers],
                "encodings": [encoding.name for encoding in encodings()],
                "meter": self._meter is not None,
                "may_write": self.access.may_write,
                "needs_token": self.access.needs_token,
            }
        )

    async def _grid(self, request: Request) -> Response:
        parameters = read_parameters(request.scope["query_string"], self.options.limits)
        if not isinstance(parameters.area, Box):
            raise Problem(400, "a grid needs the view: shape=box with min_lat, min_long, …")
        name = parameters.one_encoding or "s2"
        return JSONResponse(await asyncio.to_thread(grid_of, parameters.area, name))

    async def _cover(self, request: Request) -> Response:
        parameters = read_parameters(request.scope["query_string"], self.options.limits)
        if parameters.area is None:
            raise Problem(400, "a cover needs an area: `shape` and its parameters")
        name = parameters.one_encoding or "s2"
        return JSONResponse(await asyncio.to_thread(cover_of, parameters.area, name))

    async def _routers(self, _: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(routers, self._session))

    async def _layer(self, request: Request) -> Response:
        layers, number = self.options.view.layers, request.path_params["number"]
        if number >= len(layers):
            raise Problem(404, f"there are {len(layers)} layers, counted from 0; not {number}")
        return FileResponse(layers[number][1], media_type="application/geo+json")

    async def _openapi(self, _: Request) -> Response:
        return JSONResponse(document(self.access))

    async def _docs(self, _: Request) -> Response:
        return HTMLResponse(document_page(document(self.access)), headers=self._page_headers())


async def _show_problem(request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    assert problem is not None
    body = problem.body(request.url.path)
    return Response(body, problem.status, media_type="application/problem+json")

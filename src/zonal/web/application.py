"""The whole web application: REST for keys, and beside it the page, its data, and the counters."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import zonal
from zonal.errors import ZonalError
from zonal.geo import Box
from zonal.keys import encodings
from zonal.runtime import CONTENT_TYPE
from zonal.trust import Action
from zonal.web.access import WebAccess
from zonal.web.assets import SWAGGER, maplibre_folder, swagger_folder
from zonal.web.exchange import Exchange
from zonal.web.feed import Feeds
from zonal.web.guest_book import note_refusal
from zonal.web.memory import EventMemory
from zonal.web.metrics import Metrics
from zonal.web.openapi import document
from zonal.web.overlay import cover_of, grid_of, routers
from zonal.web.parameters import read_parameters
from zonal.web.places import places_file, places_named
from zonal.web.problem import Problem, problem_of
from zonal.web.rest import Rest
from zonal.web.tiles import MapTiles, TileArchive, about, tiles_of
from zonal.web.visitors import Visitors, cost_of
from zonal.web.world import world_folder, world_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from zonal.session import Session
    from zonal.trust import Rules
    from zonal.web.connections import Connections
    from zonal.web.grants import WebGrant
    from zonal.web.meter import Meter
    from zonal.web.options import WebOptions
    from zonal.web.parameters import Parameters
    from zonal.web.visitors import Visitor

_THREADS = 2
PAGE = Path(__file__).parent / "page"
RESERVED = "/-/"
"""Paths under this prefix are no keys."""
NO_KEYS = frozenset(
    {"/", "/metrics", "/health", "/ready", "/docs", "/openapi.json", "/favicon.ico", "/robots.txt"}
)
"""Nor are these."""


_FREE = frozenset(
    {"/", "/health", "/ready", "/docs", "/openapi.json", "/favicon.ico", "/robots.txt"}
    | {"/-/docs", "/-/openapi.json"}
)
_FREE_FOLDERS = ("/-/page/", "/-/maplibre/", "/-/swagger/")
"""What says nothing about data: for these nobody needs a token."""
_TILES = "/-/tiles/"
_POLICY = "default-src 'self'; img-src 'self' data:; base-uri 'none'"
_MAP_POLICY = (
    "default-src 'self'; img-src 'self' data: blob: {tiles}; connect-src 'self' {tiles}; "
    "worker-src blob:; base-uri 'none'"
)
"""MapLibre's workers begin as blobs; tiles are loaded from where the operator says."""


class Application:
    """An ASGI application on a session; `zonal.web.server` puts it on the network."""

    def __init__(self, session: Session, options: WebOptions, meter: Meter | None = None) -> None:
        self.options = options
        self.metrics = Metrics(options.limits.topics_in_metrics)
        self.access = WebAccess(options)
        self.visitors = Visitors(options.limits, options.proxies)
        self._session = session
        self._meter = meter
        self._tiles = tiles_of(options.view.tiles, options.view.attribution)
        self.feeds = Feeds(session, options.limits, self.metrics, meter)
        events = options.view.events
        self._memory = EventMemory(session, events) if events else None
        self._threads = ThreadPoolExecutor(_THREADS, "zonal-web-page")
        self.connections: Connections = {}
        """Those that the server has open, if it tells."""
        self._rest = Rest(
            session, self.feeds, self.access, self.metrics, options.limits, self.connections
        )
        self._pages: ASGIApp = Starlette(
            routes=self._routes(),
            lifespan=self._lifespan,
            exception_handlers={ZonalError: _show_problem, HTTPException: _show_refusal},
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
        request = Exchange(scope, receive, send)
        now = asyncio.get_running_loop().time()
        visitor = self.visitors.of(scope, request.headers, now)
        scope["visitor"] = visitor.name
        most = self.options.limits.connections_per_address
        try:
            with visitor.holding("requests", most):
                visitor.pay(cost_of(request.query), now)
                await self._answer(request, visitor)
        except Problem as problem:
            self.metrics.count("zonal_requests", request.method, str(problem.status))
            await request.respond_problem(problem)

    async def _answer(self, request: Exchange, visitor: Visitor) -> None:
        path: str = request.scope["path"]
        if not (path.startswith(RESERVED) or path in NO_KEYS):
            await self._rest.answer(request, visitor)
            return
        self.access.check_host(request.headers)
        if path in _FREE or path.startswith(_FREE_FOLDERS):
            await self._pages(*request.asgi)
            return
        request.scope["grant"] = self.access.grant(request.headers)
        if path.startswith(_TILES):  # a map asks for many at a time
            await self._pages(*request.asgi)
            return
        with visitor.holding("questions", self.options.limits.questions_per_address):
            await self._pages(*request.asgi)

    def use(self, tokens: Iterable[WebGrant], rules: Rules | None = None) -> None:
        """Take other tokens and rules from now on; streams that they do not allow end."""
        self.access.use(tokens, rules)
        self.feeds.end(lambda grant: not self.access.knows(grant))

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self.feeds.start()
        yield
        await self.feeds.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._memory is not None:
            await asyncio.to_thread(self._memory.close)

    def _routes(self) -> list[Route | Mount]:
        return [
            Route("/", self._page),
            Route("/metrics", self._metrics_page),
            Route("/health", self._health),
            Route("/ready", self._ready),
            Route("/favicon.ico", _to("/-/page/icon.svg")),
            Route("/docs", _to("/-/docs")),
            Route("/openapi.json", _to("/-/openapi.json")),
            Route("/-/view", self._view),
            Route("/-/events", self._events),
            Route("/-/grid", self._grid),
            Route("/-/world", self._world),
            Route("/-/cover", self._cover),
            Route("/-/routers", self._routers),
            Route("/-/layers/{number:int}", self._layer),
            Route("/-/openapi.json", self._openapi),
            Route("/-/docs", self._docs),
            *(Route(f"/-/swagger/{name}", self._swagger) for name in SWAGGER),
            Route("/-/places", self._places),
            Route("/-/tiles/{z:int}/{x:int}/{y:int}", self._tile),
            Mount("/-/maplibre", StaticFiles(directory=maplibre_folder())),
            Mount("/-/page", StaticFiles(directory=PAGE)),
        ]

    async def _page(self, _: Request) -> Response:
        return FileResponse(PAGE / "index.html", headers=self._page_headers())

    def _page_headers(self) -> dict[str, str]:
        origin = self._tiles.origin if isinstance(self._tiles, MapTiles) else ""
        policy = _MAP_POLICY.format(tiles=origin)
        return {"content-security-policy": policy, "cache-control": "no-cache"}

    async def _metrics_page(self, request: Request) -> Response:
        if not _grant(request).metrics:
            raise Problem(403, "your token does not show the counters")
        return Response(self.metrics.to_text(), media_type=CONTENT_TYPE)

    async def _health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok", "version": zonal.__version__})

    async def _ready(self, _: Request) -> Response:
        """Whether what is published here can reach somebody."""
        info = self._session.zenoh.info
        routers, peers = await asyncio.to_thread(lambda: (info.routers_zid(), info.peers_zid()))
        if not (routers or peers):
            raise Problem(503, "no router or peer is connected")
        return JSONResponse({"status": "ready", "routers": len(routers), "peers": len(peers)})

    async def _view(self, request: Request) -> Response:
        view, grant = self.options.view, _grant(request)
        return JSONResponse(
            {
                **asdict(view),
                "version": zonal.__version__,
                "center": [view.latitude, view.longitude],
                "layers": [name for name, _ in view.layers],
                "encodings": [encoding.name for encoding in encodings()],
                "meter": self._meter is not None,
                "tiles": about(self._tiles),
                "world": world_folder() is not None,
                "places": places_file() is not None,
                "may_write": self.access.may_write(grant),
                "fenced": grant.fenced,
                "needs_token": self.access.needs_token,
            }
        )

    async def _events(self, request: Request) -> Response:
        if self._memory is None:
            return JSONResponse([])
        grant = _grant(request)
        grant.narrowed(Action.SUBSCRIBE, self._memory.key, None, None)
        return JSONResponse(self._memory.events(grant))

    def _overlay_parameters(self, request: Request) -> Parameters:
        return read_parameters(request.scope["query_string"], "overlay", self.options.limits)

    def _box(self, request: Request) -> tuple[Box, str]:
        """The view and the encoding that an overlay is asked for."""
        parameters = self._overlay_parameters(request)
        if not isinstance(parameters.area, Box):
            raise Problem(400, "this needs the view: shape=box with min_lat, min_long, …")
        return parameters.area, parameters.one_encoding or "s2"

    async def _grid(self, request: Request) -> Response:
        return await self._computed(grid_of, *self._box(request))

    async def _world(self, request: Request) -> Response:
        return await self._computed(world_in, self._box(request)[0])

    async def _places(self, request: Request) -> Response:
        """Places by their name, for the search of the page."""
        return await self._computed(places_named, request.query_params.get("name", "")[:100])

    async def _tile(self, request: Request) -> Response:
        if not isinstance(self._tiles, TileArchive):
            raise Problem(404, "this server has no tiles of its own: see --tiles")
        z, x, y = (request.path_params[name] for name in ("z", "x", "y"))
        found = await asyncio.to_thread(self._tiles.tile, z, x, y)
        if found is None:
            return Response(status_code=204)
        return Response(found, headers=self._tiles.headers, media_type=self._tiles.media_type)

    async def _cover(self, request: Request) -> Response:
        parameters = self._overlay_parameters(request)
        if parameters.area is None:
            raise Problem(400, "a cover needs an area: `shape` and its parameters")
        name = parameters.one_encoding or "s2"
        return await self._computed(cover_of, parameters.area, name)

    async def _routers(self, request: Request) -> Response:
        if not _grant(request).admin:
            raise Problem(403, "routers are shown to administrators")
        return await self._computed(routers, self._session)

    async def _computed(self, work: Callable[..., Any], *given: Any) -> Response:
        """What takes a while, in threads of its own: publishing and listening do not wait."""
        loop = asyncio.get_running_loop()
        return JSONResponse(await loop.run_in_executor(self._threads, work, *given))

    async def _layer(self, request: Request) -> Response:
        layers, number = self.options.view.layers, request.path_params["number"]
        if number >= len(layers):
            raise Problem(404, f"there are {len(layers)} layers, counted from 0; not {number}")
        return FileResponse(layers[number][1], media_type="application/geo+json")

    async def _openapi(self, _: Request) -> Response:
        return JSONResponse(document(self.access))

    async def _swagger(self, request: Request) -> Response:
        return FileResponse(swagger_folder() / request.url.path.rpartition("/")[2])

    async def _docs(self, _: Request) -> Response:
        swagger_folder()  # says what to install where it is missing
        headers = {"content-security-policy": f"{_POLICY}; style-src 'self' 'unsafe-inline'"}
        return FileResponse(PAGE / "docs.html", headers=headers)


def _grant(request: Request) -> WebGrant:
    grant: WebGrant = request.scope["grant"]
    return grant


def _to(path: str) -> Callable[[Request], Awaitable[Response]]:
    async def redirect(_: Request) -> Response:
        return RedirectResponse(path)

    return redirect


async def _show_refusal(request: Request, error: Exception) -> Response:
    """What Starlette refuses, in our form: a page that is not there, or not for this method."""
    assert isinstance(error, HTTPException)
    known = f"no such page: {request.url.path}; keys do not begin with /-/"
    detail = known if error.status_code == 404 else str(error.detail)
    return await _show_problem(request, Problem(error.status_code, detail))


async def _show_problem(request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    assert problem is not None
    note_refusal(request.scope, problem)
    body = problem.body(request.url.path)
    return Response(body, problem.status, media_type="application/problem+json")

"""Our store, border or web server in a process of its own: `python -m zonal_lab.peers.service`."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import zenoh

import zonal
from zonal.border import Border, BorderPlan, NotedPlace, ZoneSet
from zonal.geo import Circle, Point
from zonal.session import Router
from zonal.store import Store
from zonal.web import WebLimits, WebOptions, WebServer
from zonal_lab.emulation import EndRole, serve

if TYPE_CHECKING:
    from zonal_lab.emulation import Answer

_STEP_US = 10_000_000


class ServiceRole(EndRole):
    """A store that hears and answers through a router, a border that is handed places, REST.

    It also attends to what comes in over REST, behind a server's router.
    """

    def __init__(self) -> None:
        super().__init__()
        self._store: Store | None = None
        self._border: Border | None = None
        self._time = 0
        self._attended = 0

    def orders(self) -> dict[str, Answer]:
        """Keep, count; watch, move; serve; attend, count."""
        return {
            "keep": self._keep,
            "kept": self._kept,
            "watch": self._watch,
            "move": self._move,
            "serve": self._serve,
            "attend": self._attend,
            "attended": lambda: {"attended": self._attended},
        }

    def _keep(self, endpoint: str, topic: str, folder: str) -> dict[str, Any]:
        self._end = zonal.open(zonal.config("client", connect=[endpoint]))
        self._store = Store(self._end, topic, data=folder)
        return {}

    def _kept(self) -> dict[str, Any]:
        assert self._store is not None
        return {"kept": self._store.counters.kept}

    def _watch(self, fences: list[list[float]]) -> dict[str, Any]:
        """Who enters or leaves these circles: latitude, longitude, metres."""
        areas = tuple(Circle(Point(lat, lon), radius_m=metres) for lat, lon, metres in fences)
        names = tuple(str(number) for number in range(len(areas)))
        begun = time.process_time()
        self._border = Border(ZoneSet(names, areas), BorderPlan(("enter", "leave")))
        return {"cpu_s": time.process_time() - begun}

    def _move(self, batches: list[list[list[float]]]) -> dict[str, Any]:
        """Places of things, in batches: number, latitude, longitude; processor time and events."""
        assert self._border is not None
        events, spent = 0, 0.0
        for batch in batches:
            self._time += _STEP_US
            begun = time.process_time()
            places = [
                NotedPlace(f"thing/{int(number)}", lat, lon, self._time)
                for number, lat, lon in batch
            ]
            events += len(self._border.update(places))
            spent += time.process_time() - begun
        return {"cpu_s": spent, "events": events}

    def _serve(self) -> dict[str, Any]:
        """The web server with a router beside it, as `zonal serve` has it; no limits on a load."""
        self._end = contextlib.ExitStack()
        router = self._end.enter_context(Router(["tcp/127.0.0.1:0"]))
        (endpoint,) = router.endpoints
        session = self._end.enter_context(zonal.open(zonal.config("client", connect=[endpoint])))
        limits = WebLimits(requests_per_second=0, questions_per_address=1000)
        server = self._end.enter_context(WebServer(session, WebOptions(port=0, limits=limits)))
        return {"port": server.port, "endpoint": endpoint}

    def _attend(self, endpoint: str, body: str, at: tuple[float, float]) -> dict[str, Any]:
        """Hear what is put, also around a place, and answer what is asked."""
        self._end = zonal.open(zonal.config("client", connect=[endpoint]))

        def answer(query: zenoh.Query) -> None:
            self._attended += 1
            with query:
                query.reply(query.key_expr, body, encoding=zenoh.Encoding.APPLICATION_JSON)

        def hear(_: Any) -> None:
            self._attended += 1

        self._end.zenoh.declare_queryable("peers/get/**", answer)
        self._end.zenoh.declare_subscriber("peers/put", hear)
        self._end.declare_subscriber("peers/put", hear, area=Circle(Point(*at), radius_m=500))
        return {}


if __name__ == "__main__":
    serve(ServiceRole())

"""Things at our store, which are put and asked for by a session."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from typing import TYPE_CHECKING

import zenoh

import zonal
from zonal.geo import Circle, Point
from zonal_lab.emulation import Worker, wait_until
from zonal_lab.peers.programs import fine_cpu_s
from zonal_lab.peers.thing_server import SOUTH, WEST, Places, PythonThings
from zonal_lab.systems import resident_bytes, started_router

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal_lab.peers.programs import Programs

_PAYLOAD = b'{"line": "54", "speed": 33.5}'
_PATIENCE_S = 120.0


class ZonalThings(PythonThings):
    """Our store, durable in its folder, behind a stock router; a session publishes and asks."""

    def __init__(self, session: zonal.Session, store: Worker, router: int) -> None:
        self._session, self._store, self._router = session, store, router
        self._sent = self._kept()

    def store(self, places: Places) -> None:
        """One message a thing; done when the store has kept them all."""
        for number, lat, lon in places:
            self._session.put(
                f"city/bus/{number}", _PAYLOAD, location=Point(lat, lon),
                congestion_control=zenoh.CongestionControl.BLOCK,
            )  # fmt: skip
        self._sent += len(places)
        wait_until(self._all_kept, _PATIENCE_S, "the store has not kept everything")

    def _all_kept(self) -> bool:
        return self._kept() >= self._sent

    def _kept(self) -> int:
        return int(self._store.ask({"do": "kept"}, _PATIENCE_S)["kept"])

    def within(self, lat: float, lon: float, radius_m: float) -> int:
        """A `get` with an area."""
        area = Circle(Point(lat, lon), radius_m=radius_m)
        return sum(1 for _ in self._session.get("city/bus/*", area=area))

    def closest(self, lat: float, lon: float, count: int) -> int:
        """A `get` with `nearest`."""
        return len(list(self._session.get("city/bus/*", nearest=count, to=Point(lat, lon))))

    def cpu_s(self) -> float:
        """Of store and router."""
        return fine_cpu_s(self._store.pid) + fine_cpu_s(self._router)

    def resident(self) -> int:
        """Of the store."""
        return resident_bytes(self._store.pid)


@contextlib.contextmanager
def zonal_things(programs: Programs) -> Iterator[ZonalThings]:
    """Our store behind a stock router, for as long as the block lasts."""
    del programs
    with contextlib.ExitStack() as closing:
        folder = closing.enter_context(tempfile.TemporaryDirectory(prefix="zonal-peer-"))
        router, endpoint = closing.enter_context(started_router())
        store = Worker("store", [sys.executable, "-m", "zonal_lab.peers.service"])
        closing.callback(store.end)
        order = {"do": "keep", "endpoint": endpoint, "topic": "city/**", "folder": folder}
        store.ask(order, _PATIENCE_S)
        config = zonal.config("client", connect=[endpoint])
        session = closing.enter_context(zonal.open(config))
        wait_until(lambda: _probed(session), _PATIENCE_S, "the store does not answer")
        yield ZonalThings(session, store, router)


def _probed(session: zonal.Session) -> bool:
    session.put("city/probe", b"", location=Point(SOUTH, WEST))
    return bool(list(session.get("city/probe", timeout=2)))

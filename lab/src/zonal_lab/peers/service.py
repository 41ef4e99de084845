"""Our store or border in a process of its own: `python -m zonal_lab.peers.service`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import zonal
from zonal.border import Border, BorderPlan, NotedPlace, ZoneSet
from zonal.geo import Circle, Point
from zonal.store import Store
from zonal_lab.emulation import EndRole, serve

if TYPE_CHECKING:
    from zonal_lab.emulation import Answer

_STEP_US = 10_000_000


class ServiceRole(EndRole):
    """A store that hears and answers through a router, or a border that is handed places."""

    def __init__(self) -> None:
        super().__init__()
        self._store: Store | None = None
        self._border: Border | None = None
        self._time = 0

    def orders(self) -> dict[str, Answer]:
        """Keep, count; watch, move."""
        return {
            "keep": self._keep,
            "kept": self._kept,
            "watch": self._watch,
            "move": self._move,
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


if __name__ == "__main__":
    serve(ServiceRole())

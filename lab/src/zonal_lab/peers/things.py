"""What is where now: things are stored and moved, then asked for by circle and by nearness."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonal_lab.peers.postgis_things import PostgisThings, postgis_things
from zonal_lab.peers.resp_things import redis_things, tile38_things
from zonal_lab.peers.thing_server import SIDE, SOUTH, WARM, WEST
from zonal_lab.peers.zonal_things import zonal_things

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable

    from zonal_lab.peers.programs import Programs
    from zonal_lab.peers.thing_server import Answered, Places, ThingServer

RADIUS_M = 1000.0
NEAREST = 10

SYSTEMS: dict[str, Callable[[Programs], contextlib.AbstractContextManager[ThingServer]]] = {
    "zonal": zonal_things,
    "tile38": tile38_things,
    "redis": redis_things,
    "postgis": postgis_things,
}


def run_things(
    system: str, programs: Programs, count: int, questions: int, seed: int
) -> dict[str, float]:
    """Store, move, ask; rates, processor time of the server, and percentiles of the answers."""
    rng = np.random.default_rng(seed)
    with SYSTEMS[system](programs) as server:
        before = server.resident()
        places = _scattered(rng, np.arange(count))
        figures = _changed(server, "add", places)
        figures["bytes_a_thing"] = (server.resident() - before) / count
        moved = _scattered(rng, rng.choice(count, count // 2, replace=False))
        figures |= _changed(server, "move", moved)
        if isinstance(server, PostgisThings):
            server.settle()
        centres = _scattered(rng, np.arange(questions + WARM))
        figures |= _asked(server, "circle", centres, lambda: server.circles(centres, RADIUS_M))
        return figures | _asked(
            server, "nearest", centres, lambda: server.nearest(centres, NEAREST)
        )


def _scattered(rng: np.random.Generator, numbers: np.ndarray) -> Places:
    lats, lons = (start + SIDE * rng.random(len(numbers)) for start in (SOUTH, WEST))
    return list(zip(numbers.tolist(), lats.tolist(), lons.tolist(), strict=True))


def _changed(server: ThingServer, name: str, places: Places) -> dict[str, float]:
    cpu, took = server.cpu_s(), server.put(places)
    return {
        f"{name}_per_s": len(places) / took,
        f"{name}_cpu_us": (server.cpu_s() - cpu) / len(places) * 1e6,
    }


def _asked(
    server: ThingServer, name: str, centres: Places, ask: Callable[[], Answered]
) -> dict[str, float]:
    cpu, found = server.cpu_s(), ask()
    return {
        f"{name}_p50_us": found.p50_us,
        f"{name}_p99_us": found.p99_us,
        f"{name}_cpu_us": (server.cpu_s() - cpu) / len(centres) * 1e6,
        f"{name}_hits": found.hits,
    }

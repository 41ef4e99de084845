"""A real network of three cities and a region: what arrives, beside what the model says.

Each city has a router, linked to the region's. A client of a city declares the bounded union of
its subscribers' areas; publications from its city are sent by a client of another city, so that
they cross the region.
"""

from __future__ import annotations

import contextlib
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import zenoh

from zonal import config
from zonal.index import InterestCover
from zonal.keys import cell_keys, encode_place, encoding_named
from zonal_lab.emulation import wait_until
from zonal_lab.scale.city import BOUNDS, cells_around, populate
from zonal_lab.scale.router_cost import TOPIC
from zonal_lab.systems import started_router

if TYPE_CHECKING:
    from zonal.geo import Cell, Circle, Point

_CITIES = 3
_MESSAGES = 500
_PATIENCE_S = 60.0


def run_network(subscribers: int, seed: int, zenohd: str | None = None) -> dict[str, float]:
    """Publish through the network; messages sent, expected for just these areas, and received."""
    rng = np.random.default_rng(seed)
    with contextlib.ExitStack() as closing:
        _, region = closing.enter_context(started_router(zenohd=zenohd))
        cities = [
            closing.enter_context(started_router([region], zenohd))[1] for _ in range(_CITIES)
        ]
        sessions = [
            closing.enter_context(zenoh.open(config("client", connect=[each]))) for each in cities
        ]
        expected = received = keys = 0
        for number, reader in enumerate(sessions):
            areas, asked = populate(subscribers, rng)
            cells = _union(areas)
            keys += len(cells)
            places = asked[:_MESSAGES]
            ids = {cell.id for cell in cells}
            expected += sum(not cells_around(place).isdisjoint(ids) for place in places)
            sender = sessions[(number + 1) % _CITIES]
            received += _heard(sender, reader, cells, places, f"{TOPIC}/{number}")
        sent = _CITIES * _MESSAGES
        return {"sent": sent, "expected": expected, "received": received, "keys": keys}


def _union(areas: list[Circle]) -> tuple[Cell, ...]:
    union = InterestCover(BOUNDS["bounded"])
    for number, area in enumerate(areas):
        union.add(number, area)
    return union.cells


def _heard(
    sender: zenoh.Session,
    reader: zenoh.Session,
    cells: tuple[Cell, ...],
    places: list[Point],
    topic: str,
) -> int:
    counts = {"heard": 0, "ready": 0, "ended": 0}

    def count(name: str, _: object) -> None:
        counts[name] += 1

    def reaches(name: str) -> bool:
        sender.put(f"{topic}/{name}", b"", congestion_control=zenoh.CongestionControl.BLOCK)
        return counts[name] > 0

    for key in cell_keys(topic, cells, encoding_named("s2")):
        reader.declare_subscriber(key, partial(count, "heard"))
    # Declared after the others, and put after the others: whoever hears it has heard them.
    for name in ("ended", "ready"):
        reader.declare_subscriber(f"{topic}/{name}", partial(count, name))
    wait_until(lambda: reaches("ready"), _PATIENCE_S, "the cities do not hear one another")
    time.sleep(0.2)
    for place in places:
        (there,) = encode_place(place)
        sender.put(
            f"{topic}/{there.expression}", b"x" * 100,
            congestion_control=zenoh.CongestionControl.BLOCK,
        )  # fmt: skip
    wait_until(lambda: reaches("ended"), _PATIENCE_S, "the last message did not arrive")
    return counts["heard"]

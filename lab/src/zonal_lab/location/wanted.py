"""Which of a publisher's messages a subscriber wants; if either moves, which it wants for sure.

A subscriber that moves decides where it is when a message reaches it, a publisher that moves when
it sends, which nobody else knows to the metre. So what a circle may have come to or left meanwhile
counts neither as wanted nor as lost.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from zonal.geo import EARTH_RADIUS_M, unit_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from zonal_lab.emulation import Node, Topology

BEFORE_S, AFTER_S = 1.0, 5.0
"""A place has to be in the circle from so long before a message is due until so long after."""
_STEP_TENTHS = 5


@lru_cache(maxsize=64)
def first_wanted(
    topology: Topology, subscriber: Node, publisher: Node, count: int
) -> NDArray[np.bool_]:
    """… for the first so many, which are the same in every case of a plan."""
    return is_wanted(topology, subscriber, publisher, np.arange(count))


def is_wanted(
    topology: Topology, subscriber: Node, publisher: Node, numbers: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """For each of these messages, by its number, whether the subscriber wants it (for sure)."""
    if not in_motion(subscriber, publisher):
        wanted = np.array(topology.wanted(subscriber, publisher), dtype=np.bool_)
        return wanted[numbers % len(wanted)]
    tenths = np.round(10 * numbers / publisher.rate_hz).astype(np.int64)
    first, last = int(tenths.min(initial=0)), int(tenths.max(initial=0))
    places = _vectors(publisher.places)[None]
    if publisher.moves:
        places = _vectors([publisher.where(t / 10) for t in range(first, last + 1)])[:, None]
    reach_m = subscriber.radius_m - publisher.speed_m_s * AFTER_S
    inside = np.ones((last - first + 1, places.shape[1]), dtype=np.bool_)
    for later in range(-round(10 * BEFORE_S), round(10 * AFTER_S) + 1, _STEP_TENTHS):
        here = _vectors([subscriber.where(t / 10) for t in range(first + later, last + later + 1)])
        inside &= _apart_m(here[:, None], places) <= reach_m
    sure: NDArray[np.bool_] = inside[tenths - first, numbers % places.shape[1]]
    return sure


def in_motion(subscriber: Node, publisher: Node) -> bool:
    """Whether either of them moves, so that some messages are wanted neither for sure nor not."""
    return subscriber.moves or publisher.moves


def _vectors(places: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    return np.column_stack(unit_vectors(*np.transpose(places)))


def _apart_m(ones: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far places lie from places, which are unit vectors."""
    chord = np.sqrt(((ones - others) ** 2).sum(axis=-1))
    metres: NDArray[np.float64] = 2 * EARTH_RADIUS_M * np.arcsin(chord / 2)
    return metres

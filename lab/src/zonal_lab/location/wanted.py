"""Which of a publisher's messages a subscriber wants; of one that moves, which it wants for sure.

Whoever moves decides where it is when a message reaches it, which nobody else knows to the metre.
So what its circle may have come to or left meanwhile counts neither as wanted nor as lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonal.geo import EARTH_RADIUS_M, unit_vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zonal_lab.emulation import Node, Topology

BEFORE_S, AFTER_S = 1.0, 5.0
"""A place has to be in the circle from so long before a message is due until so long after."""
_STEP_S = 0.5


def is_wanted(
    topology: Topology, subscriber: Node, publisher: Node, numbers: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """For each of these messages, by its number, whether the subscriber wants it (for sure)."""
    if not subscriber.moves:
        wanted = np.array(topology.wanted(subscriber, publisher), dtype=np.bool_)
        return wanted[numbers % len(wanted)]
    due_s = numbers / publisher.rate_hz
    inside = np.ones(len(numbers), dtype=np.bool_)
    places = np.column_stack(unit_vectors(*np.transpose(publisher.places)))
    from_there = places[numbers % len(places)]
    for later_s in np.arange(-BEFORE_S, AFTER_S + _STEP_S, _STEP_S):
        here = _where(subscriber, due_s + later_s)
        chord = np.sqrt(((here - from_there) ** 2).sum(axis=1))
        inside &= 2 * EARTH_RADIUS_M * np.arcsin(chord / 2) <= subscriber.radius_m
    return inside


def _where(subscriber: Node, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit vectors of where it is at these times; computed for tenths of a second."""
    tenths, of_each = np.unique(np.round(seconds * 10).astype(np.int64), return_inverse=True)
    found = [subscriber.where(each / 10) for each in tenths.tolist()]
    return np.column_stack(unit_vectors(*np.transpose(found)))[of_each]

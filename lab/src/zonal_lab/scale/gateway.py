"""What sessions of a small network declare: keys by cell, and gateways that pass unions of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import zenoh

from zonal.geo import Cell
from zonal.index import InterestCover
from zonal.keys import cell_keys, encoding_named
from zonal_lab.scale.city import BOUNDS
from zonal_lab.scale.router_cost import TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from zonal.geo import Circle
    from zonal.index import CoverChange

_ENCODING = encoding_named("s2")


def keys_of(cells: Iterable[int]) -> set[str]:
    """The keys under which publications from these cells are heard."""
    return {listed(key) for cell in cells for key in cell_keys(TOPIC, [Cell(cell)], _ENCODING)}


def listed(key: str) -> str:
    """A location key as the admin space of a router lists it, which leaves out verbatim chunks."""
    return key.replace("/@s2/", "/s2/")


class CellSubscriptions:
    """A session's subscriptions to cells; one that several want is declared once.

    Args:
        session: of Zenoh.
        hear: is called with each sample, on Zenoh's thread.
    """

    def __init__(self, session: zenoh.Session, hear: Callable[[zenoh.Sample], None]) -> None:
        self._session = session
        # An indirect callback has a thread of its own: too many for one machine.
        self._hear: Any = zenoh.handlers.Callback(hear, indirect=False)
        self._wanted: Counter[int] = Counter()
        self._held: dict[int, list[Any]] = {}
        self.told = 0
        """Declarations and their ends so far."""

    @property
    def cells(self) -> set[int]:
        """What is declared."""
        return set(self._held)

    def want(self, cells: Iterable[int]) -> None:
        """Declare what nobody else of this session wants."""
        for cell in cells:
            self._wanted[cell] += 1
            if self._wanted[cell] == 1:
                # What this session itself puts does not come back.
                self._held[cell] = [
                    self._session.declare_subscriber(
                        key, self._hear, allowed_origin=zenoh.Locality.REMOTE
                    )
                    for key in sorted(keys_of([cell]))
                ]
                self.told += 1

    def leave(self, cells: Iterable[int]) -> None:
        """… and undeclare it."""
        for cell in cells:
            self._wanted[cell] -= 1
            if not self._wanted[cell]:
                for each in self._held.pop(cell):
                    each.undeclare()
                self.told += 1


class Gateway:
    """Between the router of a city and that of its region, which are not linked.

    It tells the region what its city's clients want, and the city what others want there, each as
    a bounded union, and hands on what comes by these.

    Args:
        city: a session at the city's router.
        region: a session at the region's.
    """

    def __init__(self, city: zenoh.Session, region: zenoh.Session) -> None:
        self._city, self._region = city, region
        self.passed = {"up": 0, "down": 0}
        """Publications handed on so far: out of the city, and into it."""
        self.up = _Union(region, self._come_down)
        self.down = _Union(city, self._go_up)

    def _come_down(self, sample: zenoh.Sample) -> None:
        self.passed["down"] += 1
        _hand_on(self._city, sample)

    def _go_up(self, sample: zenoh.Sample) -> None:
        self.passed["up"] += 1
        _hand_on(self._region, sample)


def _hand_on(session: zenoh.Session, sample: zenoh.Sample) -> None:
    session.put(
        str(sample.key_expr), sample.payload, congestion_control=zenoh.CongestionControl.BLOCK
    )


class _Union:
    """A bounded union of areas, declared."""

    def __init__(self, session: zenoh.Session, hear: Callable[[zenoh.Sample], None]) -> None:
        self._cover = InterestCover(BOUNDS["bounded"])
        self.declared = CellSubscriptions(session, hear)

    def add_all(self, areas: Iterable[tuple[Hashable, Circle]]) -> None:
        """Include areas, and declare once."""
        for who, area in areas:
            self._cover.add(who, area)
        self._tell(self._cover.take_changes())

    def move(self, who: Hashable, area: Circle) -> None:
        """Move one of them."""
        self._cover.update(who, area)
        self._tell(self._cover.take_changes())

    def _tell(self, change: CoverChange) -> None:
        self.declared.want(cell.id for cell in change.declare)
        self.declared.leave(cell.id for cell in change.undeclare)

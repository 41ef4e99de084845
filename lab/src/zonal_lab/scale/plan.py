"""What is to be measured, and for which numbers of subscribers the model is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from zonal_lab.errors import PlanError
from zonal_lab.experiment import require_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal_lab.experiment import Routers

Part = Literal[
    "router", "movement", "city", "sparse", "network", "index", "broker", "store", "lake"
]

PARTS: tuple[Part, ...] = (
    "movement", "city", "sparse", "network", "router", "index", "broker", "store", "lake",
)  # fmt: skip


@dataclass(frozen=True)
class ScaleCase:
    """One part at one size.

    That is: declared keys, journeys, subscribers of a city or of each city; subscriptions of an
    index or a broker, things of a store, rows of a lake.
    """

    part: Part
    size: int
    round: int = 0

    @property
    def name(self) -> str:
        """Part, size and round."""
        return f"{self.part}-{self.size:09}-{self.round}"


@dataclass(frozen=True)
class ScalePlan:
    """Sizes of what is measured here, and the world that the model is asked about."""

    rounds: int = 5
    keys: tuple[int, ...] = (1000, 10_000, 100_000)
    """Declared at a real router."""
    city: tuple[int, ...] = (10, 100, 1000, 10_000, 100_000)
    """Subscribers of a city whose covers are computed."""
    sparse: tuple[int, ...] = (10, 100, 1000)
    """… where only a part of what is published is wanted, for the prediction of real networks."""
    network: tuple[int, ...] = (20, 60, 200)
    """Subscribers of each of three such cities in a real network."""
    subscriptions: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    """Of one broker's index, and of one broker."""
    things: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    """In one store."""
    rows: tuple[int, ...] = (1_000_000, 10_000_000, 100_000_000)
    """Of a lake, by the list of its files."""
    world: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
    publishers: int = 1_000_000
    parts: tuple[Part, ...] = PARTS
    """What is measured; the model needs movement, city and router, for networks sparse."""
    routers: Routers = "library"
    seed: int = 1

    def __post_init__(self) -> None:
        sizes = (*self.keys, *self.city, *self.sparse, *self.network, *self.world)
        if self.rounds < 1 or min(*sizes, *self.subscriptions, *self.things, *self.rows) < 1:
            raise PlanError("a plan needs rounds and sizes above 0")
        require_known("parts", self.parts, PARTS)

    def cases(self) -> Iterator[ScaleCase]:
        """The cases of the parts; those in which chance has a part are repeated."""
        return (case for case in self._all() if case.part in self.parts)

    def _all(self) -> Iterator[ScaleCase]:
        yield ScaleCase("movement", 0)
        for number in range(self.rounds):
            yield from (ScaleCase("city", size, number) for size in self.city)
            yield from (ScaleCase("sparse", size, number) for size in self.sparse)
            yield from (ScaleCase("network", size, number) for size in self.network)
        yield from (ScaleCase("router", size) for size in self.keys)
        yield from (ScaleCase("index", size) for size in self.subscriptions)
        yield from (ScaleCase("broker", size) for size in self.subscriptions)
        yield from (ScaleCase("store", size) for size in self.things)
        yield from (ScaleCase("lake", size) for size in self.rows)

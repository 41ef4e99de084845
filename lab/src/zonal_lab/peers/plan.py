"""What is run: works × systems × rounds, in which systems take turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal_lab.errors import PlanError
from zonal_lab.experiment import in_turn, require_known

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKS: dict[str, tuple[str, ...]] = {
    "things": ("zonal", "tile38", "redis", "postgis"),
    "fences": ("zonal", "tile38"),
    "index": ("zonal", "geobroker"),
    "use-case": ("zonal", "geobroker"),
    "mqtt": (
        *("zonal", "mosquitto", "mosquitto-newer", "nats", "mochi", "rumqttd", "aedes", "amqtt"),
        "zenoh-mqtt",
    ),
    "rest": ("zonal", "zenoh-rest"),
    "joins": ("zonal", "sedona"),
}
"""Works, and the systems that do each."""
NAMES = {
    "zonal": "Zonal",
    "tile38": "Tile38",
    "redis": "Redis",
    "postgis": "PostGIS",
    "geobroker": "GeoBroker",
    "mosquitto": "Mosquitto",
    "mosquitto-newer": "Mosquitto, newer",
    "nats": "nats-server",
    "mochi": "mochi-mqtt",
    "rumqttd": "rumqttd",
    "aedes": "aedes",
    "amqtt": "amqtt",
    "zenoh-mqtt": "zenohd with MQTT",
    "zenoh-rest": "zenohd with REST",
    "sedona": "Apache Sedona",
}


@dataclass(frozen=True)
class PeerCase:
    """One system at one work, once."""

    work: str
    system: str
    round: int

    @property
    def name(self) -> str:
        """Work, system and round."""
        return f"{self.work}-{self.system}-{self.round}"


@dataclass(frozen=True)
class PeersPlan:
    """Sizes of the works."""

    rounds: int = 5
    works: tuple[str, ...] = tuple(WORKS)
    things: int = 50_000
    questions: int = 300
    fences: int = 10_000
    moving: int = 10_000
    """Things that move among the fences."""
    workload_scale: float = 0.2
    """The share of GeoBroker's 110,000 operations on the index."""
    seconds: float = 2.0
    """Of each load on a broker."""
    rate: int = 5000
    """Messages a second of the steady load."""
    idle: int = 1000
    """Silent connections."""
    clients: int = 250
    """Of GeoBroker's use case."""
    messages: int = 100_000
    subscriptions: int = 10_000
    """Of the join of deliveries."""
    systems: tuple[str, ...] = tuple(NAMES)
    """Those that take part, where they do a work."""
    seed: int = 1

    def __post_init__(self) -> None:
        require_known("works", self.works, tuple(WORKS))
        require_known("systems", self.systems, tuple(NAMES))
        counts = (
            *(self.rounds, self.things, self.questions, self.fences, self.moving, self.rate),
            *(self.idle, self.clients, self.messages, self.subscriptions),
        )
        if min(counts) < 1 or min(self.workload_scale, self.seconds) <= 0:
            raise PlanError("a plan needs rounds, sizes, a rate and seconds above 0")

    def cases(self) -> Iterator[PeerCase]:
        """Round by round; every round begins with another system."""
        for number in range(self.rounds):
            for work in self.works:
                present = [each for each in WORKS[work] if each in self.systems]
                for system in in_turn(present, number):
                    yield PeerCase(work, system, number)

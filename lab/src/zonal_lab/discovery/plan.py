"""What is to be measured: topologies × ways in which nodes find one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zonal_lab.emulation import CARD
from zonal_lab.errors import PlanError
from zonal_lab.systems import ZENOH_PORT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal_lab.experiment import Routers

_SILENT_ROUNDS = 2


@dataclass(frozen=True)
class DiscoveryCase:
    """A topology and how its nodes find one another.

    The beacon comes first, the subscriber last, others between. `told` says which nodes each one is
    told to connect to (by number, from 0). In a `silent` one nobody is expected to hear anything.
    """

    topology: str
    scouting: str
    modes: tuple[str, ...]
    told: tuple[tuple[int, ...], ...]
    silent: bool = False

    @property
    def name(self) -> str:
        """Topology and scouting."""
        return f"{self.topology.replace(' ', '-')}-{self.scouting}"

    def config(self, number: int, addresses: list[str]) -> dict[str, Any]:
        """The Zenoh configuration of one node."""
        mode = self.modes[number]
        multicast, gossip = self.scouting == "multicast", self.scouting in {"gossip", "multicast"}
        to = [f"tcp/{addresses[each]}:{ZENOH_PORT}" for each in self.told[number]]
        config: dict[str, Any] = {
            "mode": mode,
            "connect": {"endpoints": to},
            "scouting": {
                "multicast": {"enabled": multicast, "interface": CARD},
                "gossip": {"enabled": gossip},
            },
        }
        if mode != "client":
            config["listen"] = {"endpoints": [f"tcp/{addresses[number]}:{ZENOH_PORT}"]}
        if self.silent:
            # Peers that hear of one another and do not link: the row stays a row.
            config["routing"] = {"peer": {"mode": "linkstate"}}
            config["scouting"]["gossip"] = {
                "enabled": True,
                "multihop": True,
                "autoconnect": {"peer": []},
            }
        return config


_PEERS, _ROW = ("peer", "peer", "peer"), ((), (0,), (1,))
CASES = (
    DiscoveryCase("clique", "multicast", _PEERS, ((), (), ())),
    DiscoveryCase("clique", "gossip", _PEERS, _ROW),
    # Applications pass messages on for others in the mode of a router; here two ways lead across.
    DiscoveryCase("mesh", "told", ("router",) * 4, ((), (0,), (0,), (1, 2))),
    DiscoveryCase("peers in a row", "told", _PEERS, _ROW, silent=True),
    DiscoveryCase("brokered", "multicast", ("client", "router", "client"), ((), (), ())),
    DiscoveryCase("brokered", "told", ("client", "router", "client"), ((1,), (), (1,))),
    DiscoveryCase(
        "routed", "multicast", ("client", "router", "router", "client"), ((), (), (1,), ())
    ),
    DiscoveryCase(
        "routed", "told", ("client", "router", "router", "client"), ((1,), (), (1,), (2,))
    ),
)
MOST_NODES = max(len(case.modes) for case in CASES)


@dataclass(frozen=True)
class DiscoveryPlan:
    """Every case, so many times; those in which nobody is expected to hear anything less often."""

    rounds: int = 20
    routers: Routers = "library"
    seed: int = 1

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise PlanError(f"a plan needs rounds above 0, not {self.rounds}")

    def cases(self) -> Iterator[DiscoveryCase]:
        """All cases."""
        yield from CASES

    def rounds_of(self, case: DiscoveryCase) -> int:
        """How often a case is measured."""
        return min(self.rounds, _SILENT_ROUNDS) if case.silent else self.rounds

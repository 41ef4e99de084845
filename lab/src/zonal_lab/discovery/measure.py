"""Clique, mesh, brokered and routed, found by multicast, by gossip or told: times to meet."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal_lab.emulation.network import CARD, EmulatedNetwork
from zonal_lab.emulation.topology import Card, Node, Topology
from zonal_lab.experiment.pages import table, write_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from zonal_lab.emulation.worker import Worker

PORT = 7447
_PATIENCE_S = 15.0
_SILENT_PATIENCE_S, _SILENT_ROUNDS = 3.0, 2
_HOSTS = 4


@dataclass(frozen=True)
class Way:
    """A topology and how its nodes find one another.

    The beacon comes first, the subscriber last, others between. `told` says which nodes each one is
    told to connect to (by number, from 0). In a `silent` one nobody is expected to hear anything.
    """

    name: str
    scouting: str
    modes: tuple[str, ...]
    told: tuple[tuple[int, ...], ...]
    silent: bool = False

    def config(self, number: int, addresses: list[str]) -> dict[str, Any]:
        """The configuration of one node."""
        mode = self.modes[number]
        multicast, gossip = self.scouting == "multicast", self.scouting in {"gossip", "multicast"}
        config: dict[str, Any] = {
            "mode": mode,
            "connect": {"endpoints": [f"tcp/{addresses[to]}:{PORT}" for to in self.told[number]]},
            "scouting": {
                "multicast": {"enabled": multicast, "interface": CARD},
                "gossip": {"enabled": gossip},
            },
        }
        if mode != "client":
            config["listen"] = {"endpoints": [f"tcp/{addresses[number]}:{PORT}"]}
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
WAYS = (
    Way("clique", "multicast", _PEERS, ((), (), ())),
    Way("clique", "gossip", _PEERS, _ROW),
    # Applications pass messages on for others in the mode of a router; here two ways lead across.
    Way("mesh", "told", ("router",) * 4, ((), (0,), (0,), (1, 2))),
    Way("peers in a row", "told", _PEERS, _ROW, silent=True),
    Way("brokered", "multicast", ("client", "router", "client"), ((), (), ())),
    Way("brokered", "told", ("client", "router", "client"), ((1,), (), (1,))),
    Way("routed", "multicast", ("client", "router", "router", "client"), ((), (), (1,), ())),
    Way("routed", "told", ("client", "router", "router", "client"), ((1,), (), (1,), (2,))),
)


@dataclass(frozen=True)
class Met:
    """The times of one way, in milliseconds; None: nothing was heard."""

    name: str
    scouting: str
    open_ms: list[float]
    first_ms: list[float | None]


def measure(rounds: int = 10, tell: Callable[[str], None] = lambda _: None) -> list[Met]:
    """Every way, so many times, on one row of hosts."""
    nodes = tuple(
        Node(number, "router", Card(), (number - 1,) if number > 1 else ())
        for number in range(1, _HOSTS + 1)
    )
    with EmulatedNetwork(Topology("meeting", nodes)) as network:
        for node in nodes:
            network.run(node, "ip", "route", "add", "default", "dev", CARD)
        command = [sys.executable, "-m", "zonal_lab.discovery.role"]
        workers = [network.start(node, command) for node in nodes]
        addresses = [node.address for node in nodes]
        return [_met(way, workers, addresses, rounds, tell) for way in WAYS]


def _met(
    way: Way, workers: list[Worker], addresses: list[str], rounds: int, tell: Callable[[str], None]
) -> Met:
    tell(f"{way.name}, {way.scouting}")
    opened, first = [], []
    last = len(way.modes) - 1
    for _ in range(min(rounds, _SILENT_ROUNDS) if way.silent else rounds):
        # Whoever is told to connect to another comes after it.
        for number in sorted(range(last), key=lambda each: (way.modes[each] == "client", each)):
            order = "beacon" if number == 0 else "route"
            config = way.config(number, addresses)
            workers[number].ask({"do": order, "config": config}, 40)
        config = way.config(last, addresses)
        patience_s = _SILENT_PATIENCE_S if way.silent else _PATIENCE_S
        answer = workers[last].ask({"do": "meet", "config": config, "patience_s": patience_s}, 60)
        opened.append(float(answer["open_ms"]))
        first.append(answer["first_ms"])
        for number in range(last, -1, -1):
            workers[number].ask({"do": "close"}, 40)
    return Met(way.name, way.scouting, opened, first)


def write_meeting_report(rows: list[Met], folder: Path, name: str = "discovery") -> Path:
    """The table of times."""
    return write_page(_page(rows), folder, name, rows)


def _page(rows: list[Met]) -> Iterator[str]:
    yield "# Topologies and discovery"
    yield ""
    yield (
        f"{len(rows[0].open_ms)} times each: all nodes but the last are up, the first publishes "
        "from a place every 10 ms; then a location-aware subscriber starts from nothing. *Open*: "
        "until its session is open; *first message*: until it hears something from its area, both "
        "from the call of `zonal.open`, in ms. *Multicast* and *gossip* are Zenoh's scouting, with "
        "default times (routers link to other routers only when told, so the two of *routed* are); "
        "*told* means endpoints in the configuration and no scouting. Hosts are "
        "network namespaces on one switch, links without limits."
    )
    yield ""
    yield from table(
        ("topology", "found by", "open, median", "first message, median", "longest", "never"),
        (
            (
                row.name,
                row.scouting,
                f"{np.median(row.open_ms):.0f}",
                f"{np.median(heard):.0f}" if heard else "–",
                f"{max(heard):.0f}" if heard else "–",
                str(row.first_ms.count(None)),
            )
            for row in rows
            for heard in [[each for each in row.first_ms if each is not None]]
        ),
    )
    yield (
        "*Mesh*: four applications in a square, each in the mode of a router, so that they pass"
        " messages on for one another (half a second of *open* is Zenoh's `scouting/delay`, "
        "which routers wait for when they start). In the thesis peers did that themselves "
        "(`routing/peer/mode` set to `linkstate`). Zenoh 1.9 took that mode out: the setting is"
        " read and ignored, and peers hear only those they are linked to. *Peers in a row* "
        "shows it on the version here: three peers with that setting and with gossip over "
        "several hops that links nobody; the last hears nothing of the first, and plain Zenoh "
        "does the same. Peers that may link to one another form a clique and hear everything."
    )

"""Clique, mesh, brokered and routed, found by multicast, by gossip or told: times to meet."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal.lab.network import CARD, EmulatedNetwork
from zonal.lab.pages import table
from zonal.lab.topology import Card, Node, Topology

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from zonal.lab.worker import Worker

PORT = 7447
_PATIENCE_S = 15.0
_HOSTS = 4


@dataclass(frozen=True)
class Way:
    """A topology and how its nodes find one another.

    Nodes stand in a row: the beacon first, the subscriber last, others between. `told` says which
    of its predecessors each node is told to connect to (by number, from 0); nobody for -1.
    """

    name: str
    scouting: str
    modes: tuple[str, ...]
    told: tuple[int, ...]

    def config(self, number: int, addresses: list[str]) -> dict[str, Any]:
        """The configuration of one node."""
        mode, to = self.modes[number], self.told[number]
        multicast, gossip = self.scouting == "multicast", self.scouting in {"gossip", "multicast"}
        config: dict[str, Any] = {
            "mode": mode,
            "connect": {"endpoints": [f"tcp/{addresses[to]}:{PORT}"] if to >= 0 else []},
            "scouting": {
                "multicast": {"enabled": multicast, "interface": CARD},
                "gossip": {"enabled": gossip},
            },
        }
        if mode != "client":
            config["listen"] = {"endpoints": [f"tcp/{addresses[number]}:{PORT}"]}
        if self.name == "mesh":
            # Peers that pass messages on for one another. They gossip about links, and link to none
            # of whom they hear so: a row stays a row.
            config["routing"] = {"peer": {"mode": "linkstate"}}
            config["scouting"]["gossip"] = {"enabled": True, "autoconnect": {"peer": []}}
        return config


WAYS = (
    Way("clique", "multicast", ("peer", "peer", "peer"), (-1, -1, -1)),
    Way("clique", "gossip", ("peer", "peer", "peer"), (-1, 0, 1)),
    Way("mesh", "told", ("peer", "peer", "peer"), (-1, 0, 1)),
    Way("brokered", "multicast", ("client", "router", "client"), (-1, -1, -1)),
    Way("brokered", "told", ("client", "router", "client"), (1, -1, 1)),
    Way("routed", "multicast", ("client", "router", "router", "client"), (-1, -1, 1, -1)),
    Way("routed", "told", ("client", "router", "router", "client"), (1, -1, 1, 2)),
)


@dataclass(frozen=True)
class Met:
    """The times of one way, in milliseconds; None: nothing was heard in 15 s."""

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
        command = [sys.executable, "-m", "zonal.lab.meeting.role"]
        workers = [network.start(node, command) for node in nodes]
        addresses = [node.address for node in nodes]
        return [_met(way, workers, addresses, rounds, tell) for way in WAYS]


def _met(
    way: Way, workers: list[Worker], addresses: list[str], rounds: int, tell: Callable[[str], None]
) -> Met:
    tell(f"{way.name}, {way.scouting}")
    opened, first = [], []
    last = len(way.modes) - 1
    for _ in range(rounds):
        # Whoever is told to connect to another comes after it.
        for number in sorted(range(last), key=lambda each: (way.modes[each] == "client", each)):
            order = "beacon" if number == 0 else "route"
            config = way.config(number, addresses)
            workers[number].ask({"do": order, "config": config}, 40)
        config = way.config(last, addresses)
        answer = workers[last].ask({"do": "meet", "config": config, "patience_s": _PATIENCE_S}, 60)
        opened.append(float(answer["open_ms"]))
        first.append(answer["first_ms"])
        for number in range(last, -1, -1):
            workers[number].ask({"do": "close"}, 40)
    return Met(way.name, way.scouting, opened, first)


def write_meeting_report(rows: list[Met], folder: Path, name: str = "discovery") -> Path:
    """The table of times."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps([asdict(row) for row in rows], indent=1)
    (folder / f"{name}.json").write_text(text + "\n")
    page = folder / f"{name}.md"
    page.write_text("\n".join(_page(rows)) + "\n", encoding="utf-8")
    return page


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
    if any(row.name == "mesh" and None in row.first_ms for row in rows):
        yield (
            "In the mesh (three peers in a row, `routing/peer/mode` set to `linkstate`, gossip "
            "that links nobody) the middle peer passed nothing on. Plain Zenoh 1.10.2 on "
            "loopback does the same: there, a row of peers needs a router."
        )

"""A real network of three sparse cities and a region, for what the model says of it.

Each city has a router and the region one, all real processes. Of those who want what happens in a
city a part lives in another one. *Flat*: routers are linked, every client declares the cells of its
area. *Bounded*: a gateway stands between the router of each city and the region's. Areas are
declared, some of them move, then clients of each city publish from all over it.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import zenoh

from zonal import config
from zonal.keys import encode_place
from zonal_lab.emulation import wait_until
from zonal_lab.errors import EmulationError
from zonal_lab.scale.city import SPARSE, cells_around, populate
from zonal_lab.scale.gateway import CellSubscriptions, Gateway, listed
from zonal_lab.scale.movers import Mover
from zonal_lab.scale.router_cost import TOPIC, await_rest
from zonal_lab.scale.world import PAYLOAD_BYTES
from zonal_lab.systems import cpu_seconds_of, resident_bytes, started_router

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.geo import Point

CITIES = 3
MESSAGES = 1000
"""From each city, all from other places."""
TIMES = 5
"""How often each is published: processor time is counted in hundredths of a second."""
MOVES = 60
"""Of subscribers of each city, or as many as there are: each leaves its margin once."""
NETWORKS = ("flat", "bounded")
_A_SESSION = 15
_PATIENCE_S, _ARRIVES_S = 60.0, 20.0


def run_networks(subscribers: int, seed: int, zenohd: str | None = None) -> dict[str, Any]:
    """Both designs with the same subscribers; see `_Network.figures`."""
    return {design: _run(design, subscribers, seed, zenohd) for design in NETWORKS}


def moves_of(subscribers: int) -> int:
    """How many subscribers of each city move."""
    return min(MOVES, subscribers)


def _run(design: str, subscribers: int, seed: int, zenohd: str | None) -> dict[str, float]:
    with contextlib.ExitStack() as closing:
        network = _Network(design, subscribers, np.random.default_rng(seed), closing, zenohd)
        network.declare()
        network.move()
        return network.publish()


class _City:
    """A city's router and its clients."""

    def __init__(self, pid: int, endpoint: str, closing: contextlib.ExitStack) -> None:
        self.pid, self._endpoint, self._closing = pid, endpoint, closing
        self.heard: set[bytes] = set()
        self.publisher = self.session()
        self.asked: list[Point] = []
        self.clients: list[CellSubscriptions] = []

    def session(self) -> zenoh.Session:
        return self._closing.enter_context(_client(self._endpoint))

    def client_of(self, number: int) -> CellSubscriptions:
        """The client that so manieth subscriber who lives here shares with some others."""
        while len(self.clients) <= number // _A_SESSION:
            self.clients.append(CellSubscriptions(self.session(), self._hear))
        return self.clients[number // _A_SESSION]

    def _hear(self, sample: zenoh.Sample) -> None:
        self.heard.add(sample.payload.to_bytes()[:8])

    @property
    def cells(self) -> set[int]:
        return set().union(*(each.cells for each in self.clients))

    @property
    def told(self) -> int:
        return sum(each.told for each in self.clients)


class _Network:
    def __init__(
        self,
        design: str,
        subscribers: int,
        rng: np.random.Generator,
        closing: contextlib.ExitStack,
        zenohd: str | None,
    ) -> None:
        self._rng = rng
        self._region, endpoint = closing.enter_context(started_router(zenohd=zenohd, admin=True))
        linked = [endpoint] if design == "flat" else []
        self._cities = [
            _City(*closing.enter_context(started_router(linked, zenohd, admin=True)), closing)
            for _ in range(CITIES)
        ]
        self._asker = closing.enter_context(_client(endpoint))
        self._gateways = [
            Gateway(city.session(), closing.enter_context(_client(endpoint)))
            for city in self._cities
            if design != "flat"
        ]
        self._movers: list[Mover] = []
        for at, city in enumerate(self._cities):
            areas, city.asked = populate(subscribers, rng, SPARSE)
            self._movers += [Mover(area, at, self._home_of(at)) for area in areas]
        self.figures: dict[str, float] = {}

    def _home_of(self, at: int) -> int:
        """Where somebody lives whose area is in this city."""
        if self._rng.random() >= SPARSE.away:
            return at
        return int((at + self._rng.integers(1, CITIES)) % CITIES)

    def declare(self) -> None:
        """Everybody declares; then tables, and memory that they took."""
        self._await_rest()
        before = [resident_bytes(pid) for pid in self._pids]
        living = [0] * CITIES
        for mover in self._movers:
            mover.client = self._cities[mover.home].client_of(living[mover.home])
            living[mover.home] += 1
            mover.client.want(mover.cover)
        for number, gateway in enumerate(self._gateways):
            areas = list(enumerate(self._movers))
            gateway.up.add_all((who, each.area) for who, each in areas if each.home == number)
            gateway.down.add_all(
                (who, each.area) for who, each in areas if each.at == number != each.home
            )
        self._await_rest()
        held = [resident_bytes(pid) - old for pid, old in zip(self._pids, before, strict=True)]
        self._note("bytes", held)
        self._note("keys", [len(keys) for keys in self._tables()])

    def move(self) -> None:
        """Some of those whose area is in each city leave their margin, each once."""
        cpu, own, changed = self._used(), self._told(), []
        known = self._known(self._asker)
        spent = np.zeros(1 + CITIES)
        for number in range(CITIES):
            here = [each for each in enumerate(self._movers) if each[1].home == number]
            cpu = self._used()
            for who in self._rng.permutation(len(here))[:MOVES]:
                self._leave_margin(*here[who])
            self._await_rest()
            spent += np.array(self._used()) - cpu
            before, known = known, self._known(self._asker)
            changed.append(len(known ^ before))
            self.figures["moves"] = self.figures.get("moves", 0) + min(MOVES, len(here))
        told = [each - old for each, old in zip(self._told(), own, strict=True)]
        others = [0] * CITIES if self._gateways else [sum(changed) - each for each in changed]
        self._note("changes", [sum(changed), *map(sum, zip(told, others, strict=True))])
        self._note("change_cpu_s", list(spent))

    def _told(self) -> list[int]:
        """What each city's router was told by its clients, and by its gateway of others."""
        clients = [each.told for each in self._cities]
        gateways = [each.down.declared.told for each in self._gateways] or [0] * CITIES
        return [sum(both) for both in zip(clients, gateways, strict=True)]

    def _leave_margin(self, who: int, mover: Mover) -> None:
        client = mover.client
        assert client is not None
        old = mover.leave_margin(float(self._rng.uniform(0, math.tau)))
        client.want(mover.cover - old)
        client.leave(old - mover.cover)
        for number, gateway in enumerate(self._gateways):
            if mover.home == number:
                gateway.up.move(who, mover.area)
            elif mover.at == number:
                gateway.down.move(who, mover.area)

    def publish(self) -> dict[str, float]:
        """From all over each city; what is heard where, and what the routers needed."""
        expected = self._expected()
        before = self._used()
        received = sum(self._published(expected) for _ in range(TIMES))
        self._await_rest()
        self._note("match_cpu_s", list(np.array(self._used()) - before))
        sent = CITIES * MESSAGES
        crossed, came = self._crossed()
        self._note("matches", [TIMES * sum(crossed), *(TIMES * (MESSAGES + n) for n in came)])
        return self.figures | {
            "sent": TIMES * sent,
            "expected": TIMES * sum(map(len, expected)),
            "received": received,
            "anybody": len(set().union(*(each.heard for each in self._cities))) / sent,
            "leaves": sum(crossed) / sent,
        }

    def _published(self, expected: list[set[bytes]]) -> int:
        """Publish everything once, and wait: how much was heard, also where something is lost."""
        for city in self._cities:
            city.heard.clear()
        for at, city in enumerate(self._cities):
            _publish(city, at)

        def heard() -> bool:
            pairs = zip(self._cities, expected, strict=True)
            return all(each.heard >= wanted for each, wanted in pairs)

        with contextlib.suppress(EmulationError):
            wait_until(heard, _ARRIVES_S, "not everything arrived")
        return sum(len(each.heard) for each in self._cities)

    def _crossed(self) -> tuple[list[int], list[int]]:
        """Of each city, how many publications left it, and how many came to it."""
        if self._gateways:
            passed = [each.passed for each in self._gateways]
            return [each["up"] // TIMES for each in passed], [
                each["down"] // TIMES for each in passed
            ]
        mine = [{_name(at, number) for number in range(MESSAGES)} for at in range(CITIES)]
        abroad = [
            set().union(*(city.heard for at, city in enumerate(self._cities) if at != here))
            for here in range(CITIES)
        ]
        return (
            [len(each & others) for each, others in zip(mine, abroad, strict=True)],
            [len(city.heard - each) for each, city in zip(mine, self._cities, strict=True)],
        )

    def _expected(self) -> list[set[bytes]]:
        """What each city's clients are to hear, by what is declared."""
        wanted = [city.cells for city in self._cities]
        found: list[set[bytes]] = [set() for _ in range(CITIES)]
        for at, city in enumerate(self._cities):
            for number, place in enumerate(city.asked[:MESSAGES]):
                around = cells_around(place)
                for to in range(CITIES):
                    if not around.isdisjoint(wanted[to]) and self._passes(around, at, to):
                        found[to].add(_name(at, number))
        return found

    def _passes(self, around: frozenset[int], at: int, to: int) -> bool:
        """Whether gateways, if any, let a publication with these cells into another city."""
        return (
            at == to
            or not self._gateways
            or not (
                around.isdisjoint(self._gateways[at].down.declared.cells)
                or around.isdisjoint(self._gateways[to].up.declared.cells)
            )
        )

    # ---- routers --------------------------------------------------------------------------

    @property
    def _pids(self) -> list[int]:
        return [self._region, *(each.pid for each in self._cities)]

    def _used(self) -> list[float]:
        return [cpu_seconds_of(pid) for pid in self._pids]

    def _await_rest(self) -> None:
        await_rest(*self._pids)

    def _note(self, name: str, values: list[Any]) -> None:
        """The region's, and the mean of the cities'."""
        self.figures[f"region_{name}"] = float(values[0])
        self.figures[f"city_{name}"] = float(sum(values[1:])) / CITIES

    def _tables(self) -> Iterator[set[str]]:
        for session in (self._asker, *(each.publisher for each in self._cities)):
            yield self._known(session)

    def _known(self, session: zenoh.Session) -> set[str]:
        """The keys that the router of a session knows, as its admin space says."""
        (router,) = session.info.routers_zid()
        space = f"@/{router}/router/subscriber/"
        topic = f"{space}{TOPIC}/s2/**"
        replies = session.get(
            topic, consolidation=zenoh.ConsolidationMode.NONE, timeout=_PATIENCE_S
        )
        return {str(reply.ok.key_expr).removeprefix(space) for reply in replies if reply.ok}


def _publish(city: _City, at: int) -> None:
    """Every publication of a city, once."""
    for number, place in enumerate(city.asked[:MESSAGES]):
        (there,) = encode_place(place)
        city.publisher.put(
            listed(f"{TOPIC}/{there.expression}"),
            _name(at, number).ljust(PAYLOAD_BYTES, b"x"),
            congestion_control=zenoh.CongestionControl.BLOCK,
        )


def _client(endpoint: str) -> zenoh.Session:
    return zenoh.open(config("client", connect=[endpoint]))


def _name(at: int, number: int) -> bytes:
    return b"%02d%06d" % (at, number)

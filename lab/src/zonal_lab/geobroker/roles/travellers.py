"""Many clients in one process: `python -m zonal_lab.geobroker.roles.travellers`."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import uvloop

from zonal_lab.emulation import cpu_seconds, serve
from zonal_lab.geobroker.journeys import Journey
from zonal_lab.geobroker.traveller import Notes, Traveller

if TYPE_CHECKING:
    from zonal_lab.emulation import Answer

_CONNECT_S = 60.0
_QUIET_S = 1.0


class TravellersRole:
    """Connects clients, lets them travel, and keeps what they saw."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        self._clients: list[Traveller] = []
        self._notes = Notes()

    def obey(self, order: str, **details: Any) -> dict[str, Any]:
        """Orders: open, travel, keep."""
        answers: dict[str, Answer] = {
            "open": self._open,
            "travel": self._travel,
            "keep": self._keep,
        }
        return answers[order](**details)

    def _open(self, path: str, numbers: list[int], ports: list[int], geo: bool) -> dict[str, Any]:
        """Connect these clients, spread over the brokers' ports."""
        ways = read_journeys(Path(path))
        self._runner.run(self._connect(ways, numbers, ports, geo=geo))
        return {}

    async def _connect(
        self, ways: list[Journey], numbers: list[int], ports: list[int], *, geo: bool
    ) -> None:
        loop = asyncio.get_running_loop()
        for number in numbers:
            _, client = await loop.create_connection(
                lambda number=number: Traveller(number, ways[number], self._notes, geo=geo),  # type: ignore[misc] # each has its own number
                "127.0.0.1",
                ports[number % len(ports)],
            )
            await asyncio.wait_for(client.ready, _CONNECT_S)
            self._clients.append(client)

    def _travel(
        self, start_ns: int, seconds: float, ramp_s: float, total: int, drain_s: float
    ) -> dict[str, Any]:
        """Travel for so long; clients set out one after the other within the ramp."""
        before = cpu_seconds()
        by_end, took = self._runner.run(self._journey(start_ns, seconds, ramp_s, total, drain_s))
        notes = self._notes
        return {
            "received": notes.received,
            "received_by_end": by_end,
            "due": sum(client.due() for client in self._clients),
            "reached": sum(client.reached() for client in self._clients),
            "relevant": notes.relevant,
            "late": notes.late,
            "unfinished": sum(not client.resting for client in self._clients),
            "cpu_seconds": cpu_seconds() - before,
            "seconds": took,
        }

    async def _journey(
        self, start_ns: int, seconds: float, ramp_s: float, total: int, drain_s: float
    ) -> tuple[int, float]:
        """What had come in when the time was over, and how long it took with the rest."""
        loop = asyncio.get_running_loop()
        start = loop.time() + (start_ns - time.monotonic_ns()) / 1e9
        for client in self._clients:
            client.travel(start + ramp_s * client.number / total, start + seconds)
        await asyncio.sleep(max(start + seconds - loop.time(), 0))
        by_end = self._notes.received
        await self._drained(loop.time() + drain_s)
        return by_end, loop.time() - start

    async def _drained(self, deadline: float) -> None:
        """Until every client rests and nothing has come for a while."""
        loop = asyncio.get_running_loop()
        last, changed = -1, loop.time()
        while loop.time() < deadline:
            if self._notes.received != last:
                last, changed = self._notes.received, loop.time()
            at_rest = all(client.resting for client in self._clients)
            if at_rest and loop.time() - changed > _QUIET_S:
                return
            await asyncio.sleep(0.05)

    def _keep(self, path: str) -> dict[str, Any]:
        for name, rows in vars(self._notes).items():
            if name in {"operations", "deliveries"}:
                with Path(f"{path}.{name}").open("wb") as file:
                    rows.tofile(file)
        return {}


def write_journeys(path: Path, ways: list[Journey]) -> None:
    """All journeys in one file, for the processes that travel them."""
    lengths = np.array([len(way.at_s) for way in ways])
    at_s, lats, lons = (
        np.concatenate([getattr(way, name) for way in ways]) for name in ("at_s", "lats", "lons")
    )
    teleports = np.array([way.teleports for way in ways])
    np.savez(path, lengths=lengths, at_s=at_s, lats=lats, lons=lons, teleports=teleports)


def read_journeys(path: Path) -> list[Journey]:
    """The journeys of a file."""
    with np.load(path) as kept:
        ends = np.cumsum(kept["lengths"])[:-1]
        parts = [np.split(kept[name], ends) for name in ("at_s", "lats", "lons")]
        parts.append(kept["teleports"].tolist())
    return [Journey(str(n), *columns) for n, columns in enumerate(zip(*parts, strict=True))]


if __name__ == "__main__":
    serve(TravellersRole())

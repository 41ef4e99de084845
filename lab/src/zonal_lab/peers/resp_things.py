"""Things at Tile38 and Redis, which are put and asked for by a load in C (`resp_load.c`)."""

from __future__ import annotations

import contextlib
import json
import tempfile
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonal_lab.peers.compiled import compiled, load_source, output_of
from zonal_lab.peers.programs import redis, tile38
from zonal_lab.peers.thing_server import BATCH, WARM, Answered, Places, ThingServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from zonal_lab.peers.programs import Command, Programs, RunningServer

_RADII_M = [250 * 2**doubled for doubled in range(9)]


class RespThings(ThingServer):
    """A server that speaks RESP: what is asked stands in a file before the clock starts."""

    def __init__(self, server: RunningServer, folder: Path) -> None:
        self._server, self._folder = server, folder
        self._load = compiled(load_source("resp_load.c", folder), folder)

    def _asked(
        self, questions: Sequence[str], *, batch: int = 1, least: int = 0, warm: int = 0
    ) -> dict[str, Any]:
        """Of a line each, as `resp_load.c` reads them."""
        file = self._folder / "questions"
        file.write_text("\n".join(questions) + "\n", encoding="ascii")
        told = [str(self._server.port), str(file), str(batch), str(least), str(warm)]
        found: dict[str, Any] = json.loads(output_of([self._load, *told]))
        return found

    def _answered(self, questions: Sequence[str], *, least: int = 0) -> Answered:
        found = self._asked(questions, least=least, warm=WARM)
        return Answered(found["p50_us"], found["p99_us"], found["items"] / found["questions"])

    def circles(self, centres: Places, radius_m: float) -> Answered:
        """One question each."""
        return self._answered([self._circle(lat, lon, radius_m) for _, lat, lon in centres])

    @abstractmethod
    def _circle(self, lat: float, lon: float, radius_m: float) -> str:
        """The command for all in a circle, with their places."""

    def cpu_s(self) -> float:
        """Of the server."""
        return self._server.cpu_s()

    def resident(self) -> int:
        """Of the server."""
        return self._server.resident()


class Tile38Things(RespThings):
    """Tile38: `SET`, `NEARBY`."""

    def put(self, places: Places) -> float:
        """Objects with a field, many in a write."""
        lines = [f"SET city bus/{n} FIELD speed 33.5 POINT {lat} {lon}" for n, lat, lon in places]
        return float(self._asked(lines, batch=BATCH)["seconds"])

    def nearest(self, centres: Places, count: int) -> Answered:
        """By `NEARBY` without a radius."""
        return self._answered([
            f"NEARBY city LIMIT {count} POINTS POINT {lat} {lon}" for _, lat, lon in centres
        ])  # fmt: skip

    def _circle(self, lat: float, lon: float, radius_m: float) -> str:
        return f"NEARBY city LIMIT 100000 POINTS POINT {lat} {lon} {radius_m}"


class RedisThings(RespThings):
    """Redis: `GEOADD`, `GEOSEARCH`; it has no search without a radius, so it grows one."""

    def put(self, places: Places) -> float:
        """Members of one sorted set, many in a command."""
        words = [f"{lon} {lat} bus/{n}" for n, lat, lon in places]
        starts = range(0, len(words), BATCH)
        lines = [f"GEOADD city {' '.join(words[start : start + BATCH])}" for start in starts]
        return float(self._asked(lines)["seconds"])

    def nearest(self, centres: Places, count: int) -> Answered:
        """Radii are doubled until enough are found."""
        more = f" COUNT {count} ASC"
        questions = [
            "\t".join(self._circle(lat, lon, radius_m, more) for radius_m in _RADII_M)
            for _, lat, lon in centres
        ]
        return self._answered(questions, least=count)

    def _circle(self, lat: float, lon: float, radius_m: float, more: str = "") -> str:
        return f"GEOSEARCH city FROMLONLAT {lon} {lat} BYRADIUS {radius_m} m{more} WITHCOORD"


@contextlib.contextmanager
def _started(
    programs: Programs, command: Command, things: type[RespThings]
) -> Iterator[RespThings]:
    with (
        programs.started(command) as server,
        tempfile.TemporaryDirectory(prefix="zonal-peer-") as folder,
    ):
        yield things(server, Path(folder))


def tile38_things(programs: Programs) -> contextlib.AbstractContextManager[RespThings]:
    """Tile38, for as long as the block lasts."""
    return _started(programs, tile38, Tile38Things)


def redis_things(programs: Programs) -> contextlib.AbstractContextManager[RespThings]:
    """Redis, for as long as the block lasts."""
    return _started(programs, redis, RedisThings)

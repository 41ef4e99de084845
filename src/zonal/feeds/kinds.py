"""Which feeds there are: where each comes from, how it is read, what it is published below."""

from __future__ import annotations

import importlib
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from zonal.errors import FeedError
from zonal.feeds.air import read_openaq, read_sensor_community
from zonal.feeds.files import read_csv, read_geojson, read_gpx
from zonal.feeds.gtfs import read_vehicles
from zonal.feeds.moving import read_aircraft, read_ships
from zonal.feeds.owntracks import listen_owntracks
from zonal.feeds.polite import PoliteSource
from zonal.feeds.receiver import GPSD_WATCH, read_gpsd, read_nmea
from zonal.runtime import check_port

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from zonal.feeds.observation import Observation

_NEEDS = {
    "gtfs": "google.transit",
    "gpx": "gpxpy",
    "nmea": "pynmea2",
    "owntracks": "paho.mqtt.client",
}
_CONNECT_S = 10.0
_LOOK_S = 0.5


class FeedKind(NamedTuple):
    """A kind of feed that is read as a whole: a file, or an address that is asked again."""

    about: str
    read: Callable[[bytes], Iterable[Observation]]
    topic: str
    """What its things are published below, unless told otherwise."""
    interval_s: float = 30.0
    """Between two looks at an address."""


KINDS: dict[str, FeedKind] = {
    "gtfs": FeedKind("vehicles of GTFS-realtime", read_vehicles, "transit", 15.0),
    "sensor-community": FeedKind("Sensor.Community", read_sensor_community, "air", 300.0),
    "openaq": FeedKind("OpenAQ, version 3", read_openaq, "air", 300.0),
    "aircraft": FeedKind("OpenSky or readsb", read_aircraft, "aircraft", 15.0),
    "ships": FeedKind("AIS as JSON", read_ships, "ships", 30.0),
    "geojson": FeedKind("points and lines with times", read_geojson, "things"),
    "csv": FeedKind("rows with lat and lon", read_csv, "things"),
    "gpx": FeedKind("tracks", read_gpx, "things"),
}
REPLAYED = frozenset({"geojson", "csv", "gpx"})
"""Those whose things, in a file, are sent as far apart in time as they were seen."""
LIVE = {"nmea": "me", "gpsd": "me", "owntracks": "owntracks"}
"""Kinds that speak by themselves, and the topic of each."""


class FeedSource(NamedTuple):
    """A feed: of which kind, where it is, and how it is read."""

    name: str
    """One of `KINDS` or `LIVE`."""
    source: str
    """An address or file; of live kinds a device, `host:port` or `mqtt://…`."""
    interval_s: float | None = None
    speed: float = 1.0
    """Of a file's own time; 0 does not wait."""
    once: bool = False
    headers: Mapping[str, str] | None = None
    routes: Mapping[str, str] | None = None
    """Names of an agency's routes."""

    @property
    def topic(self) -> str:
        """What its things are published below, unless told otherwise."""
        return LIVE[self.name] if self.name in LIVE else KINDS[self.name].topic

    def check(self) -> None:
        """`FeedError` for a kind that there is not; `ModuleNotFoundError` for a missing package."""
        if self.name not in (names := (*KINDS, *LIVE)):
            raise FeedError(f"a feed is one of {', '.join(names)}, not {self.name!r}")
        for name in (_NEEDS.get(self.name), "httpx" if _is_address(self.source) else None):
            if name is not None:
                importlib.import_module(name)

    def observations(
        self, stop: threading.Event, tell: Callable[[str], None] = lambda _: None
    ) -> Iterator[Observation]:
        """What it says, until it ends or is stopped; `tell` hears of passing trouble."""
        if self.name in LIVE:
            return _live(self.name, self.source, stop)
        kind = KINDS[self.name]
        if self.routes is not None:
            kind = kind._replace(read=partial(read_vehicles, routes=self.routes))
        found = _of_whole(kind, self, stop, tell)
        ends = self.name in REPLAYED and not _is_address(self.source)
        return _paced(found, self.speed, stop) if ends else found


def _is_address(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _of_whole(
    kind: FeedKind, feed: FeedSource, stop: threading.Event, tell: Callable[[str], None]
) -> Iterator[Observation]:
    """What a file, or an address again and again, says.

    What cannot be read is a `FeedError` where nothing was read before; later it is told, and the
    address is asked again.
    """
    source = feed.source
    if not _is_address(source):
        yield from read_whole(kind, _whole(source))
        return
    import httpx

    with httpx.Client() as client:
        polite = PoliteSource(
            client, source, feed.interval_s or kind.interval_s, headers=feed.headers
        )
        good = False
        while not stop.is_set():
            polled = polite.poll()
            if polled.said and feed.once:
                raise FeedError(f"{source}: {polled.said}")
            if polled.said:
                tell(f"{source}: {polled.said}; again in {polled.wait_s:.0f} s")
            if polled.data is not None:
                try:
                    yield from read_whole(kind, polled.data)
                    good = True
                except FeedError as error:
                    if not good:
                        raise
                    tell(str(error))
            if feed.once:
                return
            stop.wait(polled.wait_s)


def read_whole(kind: FeedKind, data: bytes) -> list[Observation]:
    """What a file or an answer says; `FeedError` where it is not built as its format says."""
    try:
        return list(kind.read(data))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, FeedError):
            raise
        raise FeedError(f"this is not what is known as {kind.about}: {error}") from error


def _live(kind: str, source: str, stop: threading.Event) -> Iterator[Observation]:
    """What a receiver or a broker says by itself, until it is stopped or ends."""
    if kind == "owntracks":
        return listen_owntracks(source, stop)
    if kind == "gpsd":
        return read_gpsd(_lines_of_host(source, GPSD_WATCH, stop))
    if ":" in source and not Path(source).exists():
        return read_nmea(_lines_of_host(source, b"", stop))
    return read_nmea(_lines_of_file(source, stop))


def _paced(
    seen: Iterable[Observation], speed: float, stop: threading.Event
) -> Iterator[Observation]:
    """Observations in the order of their moments, as far apart as they were, `speed` times as fast.

    Those without a moment come first. Speed 0: without waiting.
    """
    first, began = None, time.monotonic()
    ordered = sorted(seen, key=lambda each: each.moment.timestamp() if each.moment else 0.0)
    for each in ordered:
        if each.moment is not None and speed:
            first = first or each.moment
            due = began + (each.moment - first).total_seconds() / speed
            if stop.wait(max(0.0, due - time.monotonic())):
                return
        yield each


def _whole(source: str) -> bytes:
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise FeedError(f"cannot read {source}: {error.strerror}") from error


def _lines_of_file(source: str, stop: threading.Event) -> Iterator[str]:
    """The lines of a file or a serial device."""
    try:
        with Path(source).open(encoding="ascii", errors="replace") as lines:
            for line in lines:
                if stop.is_set():
                    return
                yield line
    except OSError as error:
        raise FeedError(f"cannot read {source}: {error.strerror}") from error


def _lines_of_host(source: str, greeting: bytes, stop: threading.Event) -> Iterator[str]:
    """The lines that a host sends over TCP."""
    import socket

    host, _, port = source.rpartition(":")
    try:
        with socket.create_connection((host, check_port(port)), _CONNECT_S) as connection:
            connection.sendall(greeting)
            connection.settimeout(_LOOK_S)
            rest = b""
            while not stop.is_set():
                try:
                    data = connection.recv(4096)
                except TimeoutError:
                    continue
                if not data:
                    return
                *lines, rest = (rest + data).split(b"\n")
                yield from (line.decode("ascii", "replace") for line in lines)
    except (OSError, ValueError) as error:
        raise FeedError(f"cannot read from {source}, which is host:port: {error}") from error

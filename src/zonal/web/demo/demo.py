"""The whole demo: starts every part, says what it runs without, and stops in good order."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console

import zonal
from zonal.errors import WebError
from zonal.geo import destination
from zonal.session import Router
from zonal.store import Store
from zonal.web.demo import past, topics
from zonal.web.demo.city import make_city
from zonal.web.demo.crowd import Crowd, StoryClock
from zonal.web.demo.districts import districts, write_districts
from zonal.web.demo.machine import LOCALHOST, missing, port_or_any
from zonal.web.demo.streets import CENTRE, make_streets
from zonal.web.demo.watch import Watch
from zonal.web.meter import Meter
from zonal.web.options import DEFAULT_PORT, MapView, WebOptions
from zonal.web.server import WebServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MQTT_NEEDS = ("mqtt5", "websockets", "aiomqtt")
PAST_NEEDS = ("deltalake",)
_ROUTER_PORT = 7447
_FIRST_MESSAGE_S = 20.0
_ROUTERS = (("Duomo", 0.0, 0.0), ("San Siro", 285.0, 4_500.0), ("Lambrate", 70.0, 4_200.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """How the demo runs."""

    data: Path = field(default_factory=lambda: Path("out/demo"))
    host: str = "127.0.0.1"
    insecure: bool = False
    """Show it to anybody who comes from beyond this machine."""
    port: int = DEFAULT_PORT
    """Of the map; where it is taken, a free one is used."""
    router_port: int = _ROUTER_PORT
    seconds: float | None = None
    """None: until it is stopped."""
    mqtt: bool = True
    pipeline: bool = True
    spark: bool = True
    tiles: str = ""
    """Streets under the map: an address of tiles, or a PMTiles file."""


class Demo:
    """A city on this machine; a context manager."""

    def __init__(self, options: DemoOptions, console: Console | None = None) -> None:
        self.options = options
        self.console = console or Console()
        self.clock = StoryClock()
        self.without: list[str] = []
        """What the demo runs without, and why."""
        self.spark_state = ""
        self._stack = contextlib.ExitStack()
        self._past: past.Past | None = None
        self._watch: Watch | None = None
        self._job: past.SparkJob | None = None
        self._crowd: Crowd
        self._meter: Meter
        self.server: WebServer

    # Starting

    def __enter__(self) -> Self:
        """Start everything; the map works before the slow parts are up."""
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with self.console.status("stopping …"):
            self._stack.close()

    def _start(self) -> None:
        self.options.data.mkdir(parents=True, exist_ok=True)
        zones = write_districts(self.options.data)
        with self._step("routers") as told:
            endpoints = self._routers()
            told(", ".join(endpoints))
        city = make_city()
        speaking = len(city.walkers) * 2 // 3
        if self._has("MQTT", self.options.mqtt, lambda: missing(*MQTT_NEEDS)):
            from zonal.web.demo.mqtt import MqttSide

            with self._step("MQTT broker") as told:
                side = MqttSide(city.walkers[speaking:], self.clock, endpoints).start()
                self._stack.callback(side.close)
                told(f"mqtt://{LOCALHOST}:{side.port}, {len(city.walkers) - speaking} phones")
        else:
            speaking = len(city.walkers)
        if self._has("history", self.options.pipeline, lambda: missing(*PAST_NEEDS)):
            with self._step("recorder and history") as told:
                self._past = past.Past(self.options.data, endpoints)
                self._stack.callback(self._past.close)
                told(str(self._past.log))
        with self._step("stores of newest values") as told:
            self._keep_newest(endpoints)
            told(str(self.options.data / "newest"))
        with self._step("map and REST") as told:
            self._serve(endpoints, zones)
            told(self.server.url)
        with self._step("stations, cars and phones") as told:
            self._crowd = Crowd(city, self.clock, endpoints)
            self._stack.callback(self._crowd.close)
            self._crowd.start(city.walkers[:speaking])
            told(f"{len(city.sensors)}, {len(city.cars)} and {len(city.walkers)}")
        with self._step("first live message") as told:
            self._wait_for_first_message()
            told(f"after {self.clock():.1f} s")
        self._judge(endpoints, zones)

    def _judge(self, endpoints: list[str], zones: Path) -> None:
        """Zones and alerts: a small stand-in speaks for the districts until Spark is warm."""
        self._watch = Watch(districts(), endpoints)
        self._stack.callback(self._watch.close)
        needs_log = past.spark_missing if self._past is not None else _no_log
        if self._has("Spark", self.options.spark, needs_log):
            assert self._past is not None
            with self._step("Spark") as told:
                self._job = past.SparkJob(self._past, zones, endpoints, self._spark_says)
                self._stack.callback(self._job.close)
                told("warms up in the background; until then a stand-in judges the air")

    def _look_after_spark(self) -> None:
        """Spark takes over when it has refined its first messages; it may also end early."""
        if self._job is None or self._watch is None:
            return
        if self._job.has_ended:
            why = self._job.failure or f"it ended early; {self._job.errors} says why"
            reason = f"{why} (the stand-in goes on)"
            self._has("Spark", True, lambda: reason)
            self.spark_state = ""
            self._job = None
        elif self._job.has_taken_over:
            self._watch.close()
            self._watch = None
            self.console.print(f"[green]✓[/] Spark has taken over  [dim]{self.clock():.0f} s[/]")

    def _spark_says(self, text: str) -> None:
        self.spark_state = text

    def _has(self, part: str, wanted: bool, missing: Callable[[], str | None]) -> bool:
        reason = missing() if wanted else "switched off"
        if reason is None:
            return True
        self.without.append(f"{part}: {reason}")
        self.console.print(f"[yellow]without[/] {part}: {reason}")
        return False

    @contextlib.contextmanager
    def _step(self, name: str) -> Iterator[Callable[[str], None]]:
        said: list[str] = []
        started = time.monotonic()
        with self.console.status(f"{name} …"):
            yield said.append
        took = time.monotonic() - started
        self.console.print(f"[green]✓[/] {name:<26} {' '.join(said)}  [dim]{took:.1f} s[/]")

    def _routers(self) -> list[str]:
        """Three stock routers: one in the middle, two connected to it."""
        middle = self._router(self.options.router_port, 0)
        endpoints = list(middle.endpoints)
        others = [self._router(0, number, endpoints) for number in (1, 2)]
        return [endpoints[0], *(other.endpoints[0] for other in others)]

    def _router(self, port: int, number: int, connect: Sequence[str] = ()) -> Router:
        name, bearing, length = _ROUTERS[number]
        place = destination(CENTRE, bearing, length)
        about = {"name": name, "location": {"lat": place.lat, "long": place.lon}}
        settings: dict[str, Any] = {"metadata": about}
        listen = [f"tcp/{LOCALHOST}:{port_or_any(port)}"]
        return self._stack.enter_context(Router(listen, connect=connect, settings=settings))

    def _keep_newest(self, endpoints: list[str]) -> None:
        """Stations and cars each share a session, phones have their own.

        Cars, too, are told apart by their places then, and those of a moment ago are forgotten.
        """
        session = self._stack.enter_context(
            zonal.open(zonal.config("client", connect=endpoints[:1]))
        )
        folder = self.options.data / "newest"
        for name, key, by, ttl_s in (
            ("stations", topics.AIR, "place", 60.0),
            ("cars", topics.CARS, "place", 2.0),
            ("phones", topics.PHONES, "source", 60.0),
        ):
            self._stack.enter_context(Store(session, key, data=folder / name, by=by, ttl_s=ttl_s))

    def _serve(self, endpoints: list[str], zones: Path) -> None:
        config = zonal.config("client", connect=endpoints[:1])
        streets = make_streets().write(self.options.data)
        session, counting = (self._stack.enter_context(zonal.open(config)) for _ in range(2))
        self._meter = self._stack.enter_context(Meter(counting, (topics.LIVE,)))
        view = MapView(
            title="Milano, live",
            topics=(topics.LIVE,),
            latitude=CENTRE.lat,
            longitude=CENTRE.lon,
            zoom=13,
            value="pm10",
            unit="µg/m³",
            scale=(0.0, 120.0),
            events=topics.EVENTS,
            alerts=topics.ALERTS,
            notices=topics.NOTICES,
            heard=topics.HEARD,
            zones=topics.ZONES,
            layers=(("Districts", zones), ("Streets", streets)),
            tiles=self.options.tiles,
            history=self._past is not None,
        )
        host = self.options.host
        port = port_or_any(self.options.port, host)
        options = WebOptions(host=host, port=port, insecure=self.options.insecure, view=view)
        self.server = self._stack.enter_context(WebServer(session, options, self._meter))

    def _wait_for_first_message(self) -> None:
        deadline = time.monotonic() + _FIRST_MESSAGE_S
        while self._meter.published == 0:
            if time.monotonic() > deadline:
                raise WebError(f"no message came within {_FIRST_MESSAGE_S:g} s")
            time.sleep(0.02)

    # Running

    def state(self) -> str:
        """One line about what is going on."""
        parts = [f"{self._meter.published:,} messages"]
        metrics = self.server.application.feeds
        parts.append(f"{metrics.stream_count} streams")
        if self._past is not None:
            parts.append(f"{self._past.recorded:,} recorded")
        if self.spark_state:
            parts.append(self.spark_state)
        if self._watch is not None:
            parts.append(f"{self._watch.alerts} alerts")
        return " · ".join(parts)

    def run(self) -> None:
        """Show what is going on until the time is over or somebody stops it."""
        ended = threading.Event()
        before = {
            number: signal.signal(number, lambda *_: ended.set())
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        deadline = None if self.options.seconds is None else time.monotonic() + self.options.seconds
        self.console.print(f"\n[bold]open {self.server.url}[/]   (stop with Ctrl-C)\n")
        try:
            with self.console.status("") as status:
                while not ended.wait(0.5) and (deadline is None or time.monotonic() < deadline):
                    self._look_after_spark()
                    status.update(self.state())
            self.console.print(self.state())
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _no_log() -> str:
    return "it reads the recorder's log"

"""`zonal demo --table`: a router, sensors fixed and moving in Milano, and who hears what."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table

import zonal
from zonal.geo import Area, Box, Circle, Grid, Point, Polygon, destination
from zonal.keys import BloomDomain, BloomEncoding, register_encoding
from zonal.session import Router, Session, Subscriber

if TYPE_CHECKING:
    from collections.abc import Iterator

    import zenoh

DUOMO = Point(45.4642, 9.1900)
CITY = Box(45.38, 9.04, 45.54, 9.28)
TOPIC = "milano/airquality"
ENCODINGS = ("s2", "mgrs", "bloom:milano", "json")


@dataclass(slots=True)
class AirSensor:
    """A sensor that publishes from where it is; `speed_m_s` 0 is a fixed one."""

    place: Point
    bearing: float
    speed_m_s: float

    def move(self, seconds: float) -> None:
        """Go on, and turn back at the border of the city."""
        if not self.speed_m_s:
            return
        ahead = destination(self.place, self.bearing, self.speed_m_s * seconds)
        if CITY.contains(ahead):
            self.place = ahead
        else:
            self.bearing = (self.bearing + 140 + random.uniform(0, 80)) % 360


@dataclass(slots=True)
class TableRow:
    """A subscriber of the demo and its row in the table."""

    name: str
    encoding: str
    subscriber: Subscriber


def demo_table(seconds: float | None = None, sensors: int = 40, rate: float = 5.0) -> None:
    """Watch what each subscriber receives, and what the network spared it."""
    console = Console()
    domain = BloomDomain("milano", Grid(CITY, rows=10, columns=10), probability=0.01)
    register_encoding(BloomEncoding(domain))
    stop = threading.Event()
    with Router(["tcp/127.0.0.1:0"]) as router:
        console.print(f"Stock Zenoh router on {router.endpoints[0]}; Ctrl-C stops the demo.")
        config = zonal.config("client", connect=router.endpoints)
        walker = AirSensor(DUOMO, 60.0, 12.0)
        with contextlib.ExitStack() as sessions:
            publishing = sessions.enter_context(zonal.open(config))
            listeners = list(_listeners(config, walker, sessions))
            sent: Counter[str] = Counter()
            thread = threading.Thread(
                target=_publish, args=(publishing, _sensors(sensors), walker, rate, sent, stop)
            )
            thread.start()
            try:
                _watch(console, listeners, sent, seconds)
            except KeyboardInterrupt:
                console.print("stopping")
            finally:
                stop.set()
                thread.join()


def _sensors(count: int) -> list[AirSensor]:
    generator = random.Random(7)
    return [
        AirSensor(
            Point(
                generator.uniform(CITY.min_lat, CITY.max_lat),
                generator.uniform(CITY.min_lon, CITY.max_lon),
            ),
            generator.uniform(0, 360),
            generator.choice((8.0, 14.0)) if number % 2 else 0.0,
        )
        for number in range(count)
    ]


def _listeners(
    config: zenoh.Config, walker: AirSensor, sessions: contextlib.ExitStack
) -> Iterator[TableRow]:
    """Each subscriber in a session of its own, so that each has counters of its own."""
    navigli = Polygon(((45.44, 9.15), (45.44, 9.18), (45.455, 9.18), (45.455, 9.15), (45.44, 9.15)))
    areas: list[tuple[str, Area]] = [
        ("2 km, Duomo", Circle(DUOMO, radius_m=2000)),
        ("Navigli", navigli),
        ("the north", Box(45.50, 9.04, 45.54, 9.28)),
    ]
    for encoding in ENCODINGS:
        for name, area in areas:
            session = sessions.enter_context(zonal.open(config))
            subscriber = session.declare_subscriber(TOPIC, area=area, encoding=encoding)
            yield TableRow(name, encoding, subscriber)
    follower = sessions.enter_context(
        zonal.open(config, position=lambda: walker.place, lifetime=0.5)
    )
    around = follower.declare_subscriber(TOPIC, area=Circle(radius_m=1500))
    yield TableRow("around a walker", "s2", around)


def _publish(
    session: Session,
    sensors: list[AirSensor],
    walker: AirSensor,
    rate: float,
    sent: Counter[str],
    stop: threading.Event,
) -> None:
    """Each sensor in turn, under each encoding in turn, at the asked rate."""
    publishers = {e: session.declare_publisher(TOPIC, encoding=e) for e in ENCODINGS}
    pause, number = 1.0 / (rate * len(sensors)), 0
    while not stop.wait(pause):
        sensor = sensors[number % len(sensors)]
        if number % len(sensors) == 0:
            for moving in (*sensors, walker):
                moving.move(1.0 / rate)
        encoding = ENCODINGS[number // len(sensors) % len(ENCODINGS)]
        publishers[encoding].put(f'{{"pm10": {random.gauss(30, 8):.1f}}}', location=sensor.place)
        sent[encoding] += 1
        number += 1


def _watch(
    console: Console, listeners: list[TableRow], sent: Counter[str], seconds: float | None
) -> None:
    started = time.monotonic()
    with Live(_table(listeners, sent, 0.0), console=console, refresh_per_second=4) as live:
        while seconds is None or time.monotonic() - started < seconds:
            time.sleep(0.25)
            live.update(_table(listeners, sent, time.monotonic() - started))


def _table(listeners: list[TableRow], sent: Counter[str], elapsed: float) -> Table:
    table = Table(title=f"{TOPIC}: {sent.total()} messages in {elapsed:.0f} s")
    table.add_column("subscriber")
    for name in ("encoding", "keys", "published", "reached it", "inside", "spared"):
        table.add_column(name, justify="left" if name == "encoding" else "right")
    for listener in listeners:
        counters = listener.subscriber.counters
        published = sent[listener.encoding]
        inside = counters.received - counters.filtered_at_edge - counters.duplicates
        spared = 1 - counters.received / published if published else 0.0
        table.add_row(
            listener.name,
            listener.encoding,
            str(len(listener.subscriber.declared_keys)),
            str(published),
            str(counters.received),
            str(inside),
            f"{max(0.0, spared):.0%}",
        )
    return table

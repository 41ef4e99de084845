"""`zonal demo --table`: a router, sensors fixed and moving in Milano, and who hears what."""

from __future__ import annotations

import contextlib
import math
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.live import Live
from rich.table import Table

import zonal
from zonal.cli.output import console
from zonal.geo import Area, Box, Circle, Grid, Point, Polygon, destination
from zonal.keys import BloomDomain, BloomEncoding, register_encoding
from zonal.session import Router, Session, Subscriber

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

DUOMO = Point(45.4642, 9.1900)
NAVIGLI = Polygon(((45.44, 9.15), (45.44, 9.18), (45.455, 9.18), (45.455, 9.15), (45.44, 9.15)))
CITY = Box(45.38, 9.04, 45.54, 9.28)
AREAS: dict[str, Area] = {
    "2 km, Duomo": Circle(DUOMO, radius_m=2000),
    "Navigli": NAVIGLI,
    "the north": Box(45.50, 9.04, 45.54, 9.28),
}
TOPIC = "milano/airquality"
ENCODINGS = ("s2", "mgrs", "bloom:milano", "json")
SENSORS, RATE_HZ = 40, 5.0


@dataclass(slots=True)
class AirSensor:
    """A sensor that publishes from where it is; `speed_m_s` 0 is a fixed one."""

    place: Point
    bearing: float
    speed_m_s: float

    def move(self, seconds: float) -> None:
        """Go on, and turn back at the border of the city."""
        ahead = destination(self.place, self.bearing, self.speed_m_s * seconds)
        if CITY.contains(ahead):
            self.place = ahead
        else:
            self.bearing = (self.bearing + 140 + random.uniform(0, 80)) % 360


@dataclass(slots=True)
class TableRow:
    """A subscriber of the demo, and what the table says of it."""

    name: str
    encoding: str
    subscriber: Subscriber

    def cells(self, published: int) -> list[str]:
        """Its row, when so many messages were published under its encoding."""
        counters = self.subscriber.counters
        inside = counters.received - counters.filtered_at_edge - counters.duplicates
        spared = max(0.0, 1 - counters.received / published) if published else 0.0
        counts = (len(self.subscriber.declared_keys), published, counters.received, inside)
        return [self.name, self.encoding, *map(str, counts), f"{spared:.0%}"]


def demo_table(seconds: float | None = None) -> None:
    """Watch what each subscriber receives, and what the network spared it."""
    shown, stop, sent = console(), threading.Event(), Counter[str]()
    domain = BloomDomain("milano", Grid(CITY, rows=10, columns=10), probability=0.01)
    register_encoding(BloomEncoding(domain))
    walker = AirSensor(DUOMO, 60.0, 12.0)
    with contextlib.ExitStack() as stack:
        router = stack.enter_context(Router(["tcp/127.0.0.1:0"]))
        shown.print(f"Stock Zenoh router on {router.endpoints[0]}; Ctrl-C stops the demo.")

        def session(**options: object) -> Session:
            config = zonal.config("client", connect=router.endpoints)
            return stack.enter_context(zonal.open(config, **options))  # type: ignore[arg-type]

        # Each subscriber in a session of its own, so that each has counters of its own.
        rows = [
            TableRow(
                name, e, session().declare_subscriber(TOPIC, area=area, encoding=e, fenced=False)
            )
            for e in ENCODINGS
            for name, area in AREAS.items()
        ]
        follower = session(position=lambda: walker.place, lifetime=0.5)
        around = follower.declare_subscriber(TOPIC, area=Circle(radius_m=1500))
        rows.append(TableRow("around a walker", "s2", around))
        thread = threading.Thread(target=_publish, args=(session(), walker, sent, stop))
        thread.start()
        try:
            _watch(shown, rows, sent, math.inf if seconds is None else seconds)
        except KeyboardInterrupt:
            shown.print("stopping")
        finally:
            stop.set()
            thread.join()


def _sensors() -> Iterator[AirSensor]:
    chance = random.Random(7)
    for number in range(SENSORS):
        lat = chance.uniform(CITY.min_lat, CITY.max_lat)
        place = Point(lat, chance.uniform(CITY.min_lon, CITY.max_lon))
        speed = chance.choice((8.0, 14.0)) if number % 2 else 0.0
        yield AirSensor(place, chance.uniform(0, 360), speed)


def _publish(
    session: Session, walker: AirSensor, sent: Counter[str], stop: threading.Event
) -> None:
    """Each sensor in turn, under each encoding in turn, at the rate of all of them."""
    publishers = {e: session.declare_publisher(TOPIC, encoding=e) for e in ENCODINGS}
    sensors, number = list(_sensors()), 0
    while not stop.wait(1.0 / (RATE_HZ * SENSORS)):
        if number % SENSORS == 0:
            for moving in (*sensors, walker):
                moving.move(1.0 / RATE_HZ)
        encoding = ENCODINGS[number // SENSORS % len(ENCODINGS)]
        message = f'{{"pm10": {random.gauss(30, 8):.1f}}}'
        publishers[encoding].put(message, location=sensors[number % SENSORS].place)
        sent[encoding] += 1
        number += 1


def _watch(shown: Console, rows: list[TableRow], sent: Counter[str], seconds: float) -> None:
    started = time.monotonic()
    with Live(console=shown, refresh_per_second=4) as live:
        while (elapsed := time.monotonic() - started) < seconds:
            live.update(_table(rows, sent, elapsed))
            time.sleep(0.25)


def _table(rows: list[TableRow], sent: Counter[str], elapsed: float) -> Table:
    title = f"{TOPIC}: {sent.total()} messages in {elapsed:.0f} s"
    table = Table("subscriber", "encoding", title=title)
    for name in ("keys", "published", "reached it", "inside", "spared"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*row.cells(sent[row.encoding]))
    return table

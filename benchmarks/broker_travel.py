"""GeoBroker's use case (section 5.3): clients that travel, tell their neighbours, and listen.

Every client has a position on a trajectory. When it arrives at the next one it updates its
location, moves its subscription's geofence there (radius 0.01 degree), and publishes 750 bytes with
a geofence of the same size; with the acknowledgement it is at the next position ("teleporting").
Without geo-contexts it only publishes, receives what everybody publishes, and throws away what is
too far away. Both kinds of clients run the same code and check every message they get.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import mqtt5
import uvloop

from broker_load import QOS, Raw, spawn

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

TOPIC = "data"
RADIUS_DEGREES = 0.01
RADIUS_M = 1111.95
PAYLOAD = 750
PLACE = struct.Struct(">dd")
Track = list[tuple[float, float]]


class Travelled(NamedTuple):
    """What the clients saw."""

    published: int
    deliveries: int
    relevant: int
    latencies_ms: list[float]
    """Publish latencies, sorted."""
    clients_cpu_s: float
    broker_cpu_s: float
    seconds: float

    @property
    def relevant_per_cpu_s(self) -> float:
        """Relevant deliveries for each CPU second of broker and clients together."""
        return self.relevant / (self.clients_cpu_s + self.broker_cpu_s)


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tracks(count: int, folder: Path | None, steps: int = 400) -> list[Track]:
    """Trajectories by increasing identifier: Geolife's where they are, else walks in Beijing."""
    found: list[Track] = []
    for path in sorted(folder.rglob("*.plt")) if folder is not None and folder.exists() else ():
        lines = path.read_text().splitlines()[6 : 6 + steps]
        track = [(float(a), float(b)) for a, b, *_ in (line.split(",") for line in lines)]
        if track:
            found.append(track)
        if len(found) == count:
            return found
    if not found:
        found = walks(random.Random(7), count, steps)
    # More clients than trajectories: the same ways again, begun elsewhere.
    known = len(found)
    for number in range(known, count):
        track = found[number % known]
        cut = len(track) // 2
        found.append(track[cut:] + track[:cut])
    return found


def walks(rng: random.Random, count: int, steps: int) -> list[Track]:
    """Random walks in a city, where there is no Geolife."""
    found = []
    for _ in range(count):
        lat, lon = 39.9 + rng.uniform(-0.15, 0.15), 116.4 + rng.uniform(-0.2, 0.2)
        heading = rng.uniform(0, 2 * math.pi)
        walk = []
        for _ in range(steps):
            heading += rng.uniform(-0.4, 0.4)
            lat, lon = lat + 1e-4 * math.cos(heading), lon + 1e-4 * math.sin(heading)
            walk.append((lat, lon))
        found.append(walk)
    return found


class Traveller(Raw):
    """One client; it moves on when its publication is acknowledged."""

    def __init__(self) -> None:
        super().__init__()
        self.track: Track = []
        self.geo = False
        self.step = 0
        self.here = self.before = (0.0, 0.0)
        self.rest = b""
        self.sent_at = 0.0
        self.published = self.deliveries = self.relevant = 0
        self.latencies: list[float] = []
        self.running = True
        self.pace_s = 0.0

    def arrive(self) -> None:
        """The next position: tell the broker, move the geofence, publish."""
        self.before, self.here = self.here, self.track[self.step % len(self.track)]
        self.step += 1
        lat, lon = self.here
        payload = PLACE.pack(lat, lon).ljust(PAYLOAD, b".")
        packets = b""
        properties = []
        if self.geo:
            place = f"{lat!r},{lon!r}"
            fence = ("geofence", f"CIRCLE ({lon!r} {lat!r}, {RADIUS_M})")
            packets += mqtt5.PublishPacket(
                "$zonal/location", place.encode(), qos=QOS[1], packet_id=1
            ).write()
            packets += subscription([fence])
            properties = [fence]
        packets += mqtt5.PublishPacket(
            TOPIC, payload, qos=QOS[1], packet_id=3, user_properties=properties
        ).write()
        self.sent_at = time.perf_counter()
        self.transport.write(packets)

    def take(self, data: bytes) -> None:
        """Messages, and the acknowledgement that lets the client move on."""
        if self.rest:
            data = self.rest + data
        position, size = 0, len(data)
        while position + 2 <= size:
            length, body = data[position + 1], position + 2
            if length >= 0x80:
                if position + 3 > size:
                    break
                length, body = length & 0x7F | data[position + 2] << 7, position + 3
            end = body + length
            if end > size:
                break
            kind = data[position] & 0xF0
            if kind == 0x30:
                self.heard(data, end)
            elif kind == 0x40 and data[body + 1] == 3:
                self.acknowledged()
            position = end
        self.rest = data[position:]

    def heard(self, data: bytes, end: int) -> None:
        """A message: near enough to matter?"""
        self.deliveries += 1
        lat, lon = PLACE.unpack_from(data, end - PAYLOAD)
        if near(lat, lon, *self.here) or near(lat, lon, *self.before):
            self.relevant += 1

    def acknowledged(self) -> None:
        """The publication is through: the client is already at the next place."""
        self.published += 1
        self.latencies.append((time.perf_counter() - self.sent_at) * 1000)
        if not self.running:
            return
        if self.pace_s:
            asyncio.get_running_loop().call_later(self.pace_s, self.arrive)
        else:
            self.arrive()


def near(lat: float, lon: float, other_lat: float, other_lon: float) -> bool:
    """Both geofences at once: they have the same radius, so either contains the other's centre."""
    dlat = lat - other_lat
    if dlat > RADIUS_DEGREES or dlat < -RADIUS_DEGREES:
        return False
    dlon = (lon - other_lon) * math.cos(math.radians(lat))
    return dlat * dlat + dlon * dlon <= RADIUS_DEGREES * RADIUS_DEGREES * 1.0001


def subscription(properties: list[tuple[str, str]]) -> bytes:
    """The client's one subscription, with or without a geofence."""
    asked = mqtt5.TopicFilter(TOPIC, max_qos=QOS[0], retain_as_published=False)
    return mqtt5.SubscribePacket(2, [asked], user_properties=properties).write()


def travel(
    port: int, pid: int, ways: list[Track], geo: bool, seconds: float, pace_s: float,
    results: Queue[Travelled],
) -> None:  # fmt: skip
    """Process: all clients of a run."""

    async def run() -> Travelled:
        clients = []
        for number, way in enumerate(ways):
            _, client = await asyncio.get_running_loop().create_connection(
                Traveller, "127.0.0.1", port
            )
            client.wanted = 2
            connect = mqtt5.ConnectPacket(f"t{number}", clean_start=True, keep_alive=600)
            client.transport.write(connect.write() + subscription([]))
            await asyncio.wait_for(client.ready, 60)
            client.track, client.geo, client.pace_s = way, geo, pace_s
            clients.append(client)
        for number, client in enumerate(clients):
            delay = pace_s * number / len(clients)
            asyncio.get_running_loop().call_later(delay, client.arrive)
        await asyncio.sleep(1.0 + pace_s)  # until all travel
        for client in clients:
            client.published = client.deliveries = client.relevant = 0
            client.latencies.clear()
        before, broker, start = time.process_time(), cpu_seconds(pid), time.perf_counter()
        await asyncio.sleep(seconds)
        took = time.perf_counter() - start
        for client in clients:
            client.running = False
        return Travelled(
            sum(c.published for c in clients),
            sum(c.deliveries for c in clients),
            sum(c.relevant for c in clients),
            sorted(value for c in clients for value in c.latencies),
            time.process_time() - before,
            cpu_seconds(pid) - broker,
            took,
        )

    results.put(uvloop.run(run()))


def journey(port: int, pid: int, ways: list[Track], *, geo: bool, seconds: float,
            pace_s: float = 0.0) -> Travelled:  # fmt: skip
    """Runs the clients in a process of their own; `pace_s` makes them rest at each place."""
    results: Queue[Travelled] = spawn.Queue()
    process = spawn.Process(target=travel, args=(port, pid, ways, geo, seconds, pace_s, results))
    process.start()
    try:
        return results.get(timeout=seconds + pace_s + 120)
    finally:
        process.join(10)
        if process.is_alive():
            process.kill()

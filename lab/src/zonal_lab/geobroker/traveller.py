"""A travelling or teleporting client: at each place it pings, moves its subscription, publishes."""

from __future__ import annotations

import asyncio
import math
import time
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import mqtt5

from zonal_lab.geobroker.message import RADIUS_DEGREES, SIZE, Report, circle, read_report
from zonal_lab.index import TOPIC

if TYPE_CHECKING:
    from zonal_lab.geobroker.journeys import Journey

CONNECT, PING, SUBSCRIBE, PUBLISH = range(4)
_QOS_0, _QOS_1 = mqtt5.QoS.AT_MOST_ONCE, mqtt5.QoS.AT_LEAST_ONCE
# Of the deliveries that a client throws away only one in so many is kept, for the latencies.
SAMPLED = 16
IN_TIME_S = 1.0
"""An arrival that is later than its journey says by no more than this is in time."""


@dataclass
class Notes:
    """What all clients of a process write down; whole numbers, a row after the other."""

    # client, step, operation, sent, acknowledged
    operations: array[int] = field(default_factory=lambda: array("q"))
    # receiver, publisher, step, sent, received, and the receiver's steps whose place and whose
    # subscription the broker had acknowledged when it sent this (on one connection, in its order)
    deliveries: array[int] = field(default_factory=lambda: array("q"))
    received: int = 0
    relevant: int = 0
    late: int = 0


class Traveller(asyncio.Protocol):
    """A client's connection and its journey; a closed loop, as in the paper (section 5.1)."""

    def __init__(self, number: int, journey: Journey, notes: Notes, *, geo: bool) -> None:
        self.number = number
        self._journey = journey
        self._notes = notes
        self._geo = geo
        self._step = -1
        self._rest = b""
        self._sent_ns = 0
        self._due_s = self._start_s = 0.0
        self.here = self._before = (0.0, 0.0)
        self._asked = CONNECT
        self._located = self._subscribed = -1
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self.resting = True
        self._until_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connect, with the first place of the journey."""
        self._transport = cast("asyncio.Transport", transport)
        _, lat, lon = self._journey.arrival(0)
        self.here = self._before = (lat, lon)
        place = [("location", f"{lat!r},{lon!r}")] if self._geo else []
        packet = mqtt5.ConnectPacket(
            f"t{self.number}", clean_start=True, keep_alive=600, user_properties=place
        )
        self._ask(CONNECT, packet.write())

    def connection_lost(self, exc: Exception | None) -> None:
        """A client whose connection breaks is an error that the lab must hear of."""
        if not self.ready.done():
            self.ready.set_exception(exc or ConnectionError("the broker hung up"))

    # ---- the journey ----------------------------------------------------------------------

    def travel(self, start_s: float, until_s: float) -> None:
        """Start at this time of the loop's clock, and set out for no place after `until_s`."""
        self._start_s, self._until_s = start_s, until_s
        self.resting = False
        self._set_out()

    def due(self) -> int:
        """How many places it should have reached by its journey until it sets out no more."""
        return self._journey.arrivals_within(self._until_s - self._start_s)

    def reached(self) -> int:
        """How many places it has set out for, in time or not."""
        return self._step + 1

    def _set_out(self) -> None:
        at, _, _ = self._journey.arrival(self._step + 1)
        self._due_s = self._start_s + at
        if self._journey.teleports:
            self._due_s = max(self._due_s, self._loop.time())
        if self._due_s > self._until_s:
            self.resting = True
        else:
            self._loop.call_at(self._due_s, self._arrive)

    def _arrive(self) -> None:
        if self._loop.time() > self._due_s + IN_TIME_S:
            self._notes.late += 1
        self._step += 1
        _, lat, lon = self._journey.arrival(self._step)
        self._before, self.here = self.here, (lat, lon)
        if self._geo:
            place = f"{lat!r},{lon!r}".encode()
            packet = mqtt5.PublishPacket("$zonal/location", place, qos=_QOS_1, packet_id=1)
            self._ask(PING, packet.write())
        else:
            self._publish()

    def _publish(self) -> None:
        lat, lon = self.here
        fence = [("geofence", circle(lat, lon))] if self._geo else []
        payload = Report(self.number, self._step, time.monotonic_ns(), lat, lon).to_bytes()
        packet = mqtt5.PublishPacket(TOPIC, payload, qos=_QOS_1, packet_id=3, user_properties=fence)
        self._ask(PUBLISH, packet.write())

    def _ask(self, operation: int, packet: bytes) -> None:
        self._asked = operation
        self._sent_ns = time.monotonic_ns()
        self._transport.write(packet)

    def _acknowledged(self) -> None:
        """What was asked last is done; the next operation follows."""
        row = (self.number, self._step, self._asked, self._sent_ns, time.monotonic_ns())
        self._notes.operations.extend(row)
        if self._asked == PING:
            self._located = self._step
        elif self._asked == SUBSCRIBE:
            self._subscribed = self._step
        if self._asked == CONNECT or (self._asked == PING and self._geo):
            self._ask(SUBSCRIBE, self._subscription())
        elif self._asked == SUBSCRIBE and self._step < 0:
            self.ready.set_result(None)
        elif self._asked == SUBSCRIBE:
            self._publish()
        else:
            self._set_out()

    def _subscription(self) -> bytes:
        fence = [("geofence", circle(*self.here))] if self._geo else []
        asked = mqtt5.TopicFilter(TOPIC, max_qos=_QOS_0, retain_as_published=False)
        return mqtt5.SubscribePacket(2, [asked], user_properties=fence).write()

    # ---- what comes in --------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Cut into packets: messages are noted, all others acknowledge something."""
        if self._rest:
            data = self._rest + data
        position, size = 0, len(data)
        while position + 2 <= size:
            length, body = data[position + 1], position + 2
            if length >= 0x80:
                if position + 3 > size:
                    break
                # Nothing here is longer than two bytes of length can say.
                length, body = length & 0x7F | data[position + 2] << 7, position + 3
            end = body + length
            if end > size:
                break
            if data[position] & 0xF0 == 0x30:
                self._heard(data, end)
            else:
                self._acknowledged()
            position = end
        self._rest = data[position:]

    def _heard(self, data: bytes, end: int) -> None:
        notes = self._notes
        notes.received += 1
        report = read_report(data, end - SIZE)
        relevant = self._geo or self._near(report)
        notes.relevant += relevant
        if relevant or notes.received % SAMPLED == 0:
            about = (self.number, report.client, report.step, report.sent_ns)
            known = (self._located, self._subscribed)
            notes.deliveries.extend((*about, time.monotonic_ns(), *known))

    def _near(self, report: Report) -> bool:
        """Both geofences at once: of the same size, either contains the other's centre."""
        for lat, lon in (self.here, self._before):
            north = report.lat - lat
            east = (report.lon - lon) * math.cos(math.radians(lat))
            if north * north + east * east <= RADIUS_DEGREES * RADIUS_DEGREES:
                return True
        return False

    def close(self) -> None:
        """Hang up."""
        self._transport.close()

"""Messages that are nothing but a topic and a payload, handed on as the bytes they came in.

A PUBLISH without properties looks the same when it leaves as when it arrived (at QoS 1 but for its
packet identifier). So it is neither decoded nor encoded again: its topic is looked up as bytes, and
equally long messages on one topic that arrived together are handed on together. Whatever is not so
plain is left to the ordinary way, which gives the same result for every packet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.broker import reason_codes
from zonal.broker.message import Encodings, Message
from zonal.broker.publishing import OWN_PREFIXES
from zonal.broker.topics import valid_topic

if TYPE_CHECKING:
    from zonal.broker.connection import Connection
    from zonal.broker.core import Broker
    from zonal.broker.session import ClientSession
    from zonal.broker.subscription import Copy

QOS_0, QOS_1, PUBACK = 0x30, 0x32, 0x40
PUBLISHED = (QOS_0, QOS_1)
SHORTEST = 7
"""Bytes of a PUBLISH from which on all the fields that are looked at are there."""
LONGEST_TOPIC = 256
ROUTES = 20_000


class Route(NamedTuple):
    """Who gets what is published on a topic, while the subscriptions stay as they are."""

    generation: int
    topic: str
    copies: list[Copy] | None
    """None where the bytes differ between receivers, or depend on who publishes."""


class Express:
    """The short way through the broker; `take` is asked before the ordinary one."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._routes: dict[bytes, Route] = {}

    def take(self, connection: Connection, session: ClientSession, now: float) -> None:
        """Hands on all that is plain at the front of what a client has sent."""
        reader = connection.reader
        data, position = reader.data, reader.position
        # A packet that goes on beyond what arrived is joined by the reader.
        while len(data) - position >= 4:
            first = data[position]
            if first == PUBACK:
                after = _acknowledged(session, data, position, now)
            elif first in PUBLISHED:
                after = self._published(connection, session, position, now)
            else:
                break
            if after == position:
                break
            position = reader.position = after
            connection.last_seen = now

    def _published(
        self, connection: Connection, session: ClientSession, start: int, now: float
    ) -> int:
        """Hands on the message that begins here; where it ends, or `start` if it is not plain."""
        reader = connection.reader
        data = reader.data
        size = len(data)
        if size - start < SHORTEST or not self._is_plain(connection, session):
            return start
        length, body = data[start + 1], start + 2
        if length >= 0x80:
            high = data[body]
            if not 0 < high < 0x80:
                return start
            length, body = length & 0x7F | high << 7, body + 1
        end = body + length
        name = body + 2 + (data[body] << 8 | data[body + 1])
        properties = name if data[start] == QOS_0 else name + 2
        if end > size or properties >= end or data[properties] or end - start > reader.limit:
            return start
        route = self._route(data[body:name])
        if route is None or route.copies is None:
            return start
        if properties == name:
            return self._hand_on(data, start, properties + 1, end, route, now)
        return self._deliver(connection, session, data, start, name, end, route, now)

    def _is_plain(self, connection: Connection, session: ClientSession) -> bool:
        """Whether nothing is added for this client, nothing forbidden, nothing sent elsewhere."""
        user = connection.user
        return (
            connection.version == 5
            and session.location is None
            and self._broker.on_publish is None
            and (user is None or user.unlimited)
        )

    def _route(self, name: bytes) -> Route | None:
        route = self._routes.get(name)
        if route is None or route.generation != self._broker.matching.generation:
            route = self._find(name)
        return route

    def _find(self, name: bytes) -> Route | None:
        """The route of a topic that has passed every check, or None."""
        text = name[2:]
        if len(text) > LONGEST_TOPIC or not text.isascii():
            return None
        topic = text.decode("ascii")
        levels = self._broker.settings.limits.maximum_levels
        if not valid_topic(topic, levels) or topic.startswith(OWN_PREFIXES):
            return None
        plan = self._broker.distributor.plan(Message(topic, b""))
        varied = plan.no_local or plan.groups or any(copy.identifiers for copy in plan.copies)
        if len(self._routes) >= ROUTES:
            self._routes.clear()
        route = Route(self._broker.matching.generation, topic, None if varied else plan.copies)
        self._routes[name] = route
        return route

    def _hand_on(
        self, data: bytes, start: int, payload: int, end: int, route: Route, now: float
    ) -> int:
        """QoS 0: one message, and those like it that follow at once; where they end."""
        head, size = data[start:payload], end - start
        last = len(data) - size
        while end <= last and data.startswith(head, end):
            end += size
        count = (end - start) // size
        counters = self._broker.counters
        counters.received += count
        whole = data[start:end]
        for session, _, _, _ in route.copies or ():
            connection = session.connection
            if connection is None:
                continue
            if not connection.verbatim or size > connection.maximum_packet:
                for at in range(start, end, size):
                    message = Message(route.topic, data[at + len(head) : at + size])
                    session.deliver(Encodings(message, now), 0, False, ())
            elif connection.writable:
                connection.send(whole)
                counters.sent += count
            else:
                counters.dropped += count
        return end

    def _deliver(
        self, connection: Connection, session: ClientSession, data: bytes, start: int, name: int,
        end: int, route: Route, now: float,
    ) -> int:  # fmt: skip
        """QoS 1: receivers' bytes are the sender's, around the packet identifier."""
        packet_id = data[name : name + 2]
        if packet_id == b"\0\0":
            return start
        self._broker.counters.received += 1
        message = Message(route.topic, data[name + 3 : end], 1, False, session.client_id)
        encodings = Encodings(message, now)
        encodings.know(data[start:name], data[name + 2 : end])
        for receiver, qos, _, _ in route.copies or ():
            receiver.deliver(encodings, 1 if qos else 0, False, ())
        if route.copies:
            connection.send(b"\x40\x02" + packet_id)
        else:
            code = reason_codes.NO_MATCHING_SUBSCRIBERS
            connection.send(b"\x40\x03" + packet_id + bytes((code,)))
        return end


def _acknowledged(session: ClientSession, data: bytes, start: int, now: float) -> int:
    """A PUBACK without a reason code, of a delivery under way; where it ends."""
    if data[start + 1] != 2:
        return start
    packet_id = data[start + 2] << 8 | data[start + 3]
    entry = session.inflight.get(packet_id)
    if entry is None or entry.qos != 1:
        return start
    session.acknowledged(packet_id, now)
    return start + 4

"""Messages that are nothing but a topic and a payload, handed on as the bytes they came in.

A PUBLISH without properties looks the same when it leaves as when it arrived (at QoS 1 but for its
packet identifier). So it is neither decoded nor encoded again: only its topic is read, and equally
long messages on one topic that arrived together are handed on together. Whatever is not so plain is
left to the ordinary way, which gives the same result for every packet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.broker import reason_codes
from zonal.broker.message import Encodings, Message

if TYPE_CHECKING:
    from zonal.broker.connection import Connection
    from zonal.broker.counters import BrokerCounters
    from zonal.broker.distribution import Distributor
    from zonal.broker.session import ClientSession, Copy

QOS_0, QOS_1, PUBACK = 0x30, 0x32, 0x40
PUBLISHED = (QOS_0, QOS_1)
SHORTEST = 7
"""Bytes of a PUBLISH from which on all the fields that are looked at are there."""


class Express:
    """The short way through the broker; `take` is asked before the ordinary one."""

    def __init__(self, distributor: Distributor, counters: BrokerCounters) -> None:
        self._distributor = distributor
        self._by_topic = distributor.by_topic
        self._counters = counters

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
        encoded = data[body + 2 : name]
        topic = encoded.decode() if encoded.isascii() else ""
        receivers = self._by_topic.get(topic) or self._distributor.on_topic(topic)
        if receivers is None or not receivers.alike:
            return start
        copies = receivers.copies
        if properties == name:
            return self._hand_on(topic, copies, data, start, properties + 1, end, now)
        return self._deliver(connection, session, topic, copies, data, start, name, end, now)

    def _is_plain(self, connection: Connection, session: ClientSession) -> bool:
        """Whether nothing is added for this client, nothing forbidden, nothing sent elsewhere."""
        user = connection.user
        return (
            connection.version == 5
            and session.location is None
            and self._distributor.on_publish is None
            and (user is None or user.unlimited)
        )

    def _hand_on(
        self, topic: str, copies: list[Copy], data: bytes, start: int, payload: int, end: int,
        now: float,
    ) -> int:  # fmt: skip
        """QoS 0: one message, and those like it that follow at once; where they end."""
        head, size = data[start:payload], end - start
        last = len(data) - size
        while end <= last and data.startswith(head, end):
            end += size
        count = (end - start) // size
        counters = self._counters
        counters.received += count
        whole = data[start:end]
        for session, _, _, _ in copies:
            connection = session.connection
            if connection is None and not session.ledger.queues_qos_0:
                continue
            if connection is None or not connection.verbatim or size > connection.maximum_packet:
                for at in range(start, end, size):
                    message = Message(topic, data[at + len(head) : at + size])
                    session.deliver(Encodings(message, now), 0, False, ())
            elif connection.writable:
                connection.send(whole)
                counters.sent += count
            else:
                counters.dropped += count
        return end

    def _deliver(
        self, connection: Connection, session: ClientSession, topic: str, copies: list[Copy],
        data: bytes, start: int, name: int, end: int, now: float,
    ) -> int:  # fmt: skip
        """QoS 1: receivers' bytes are the sender's, around the packet identifier."""
        packet_id = data[name : name + 2]
        if packet_id == b"\0\0":
            return start
        self._counters.received += 1
        message = Message(topic, data[name + 3 : end], 1, False, session.client_id)
        encodings = Encodings(message, now)
        encodings.know(data[start:name], data[name + 2 : end])
        for receiver, qos, _, _ in copies:
            receiver.deliver(encodings, 1 if qos else 0, False, ())
        if copies:
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

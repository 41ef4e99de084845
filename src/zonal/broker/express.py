"""Messages that are handed on as the bytes they came in.

At QoS 0 and 1 a PUBLISH looks the same when it leaves as when it arrived (but for its packet
identifier). So its payload is neither decoded nor encoded again; what stands before it, topic,
properties and place, is read once (`headings`), and equally long messages with the same heading
that arrived together are handed on together. Whatever is not so plain is left to the ordinary way,
which gives the same result for every packet.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from zonal.broker import reason_codes
from zonal.broker.geocontext import location_text
from zonal.broker.headings import NO_PROPERTIES, TWO_NUMBERS, VALUE, Heading, Headings
from zonal.broker.message import Encodings
from zonal.broker.outgoing import Outgoing

if TYPE_CHECKING:
    from zonal.broker.connection import Connection
    from zonal.broker.receivers import Receivers
    from zonal.broker.session import ClientSession, ClientSubscription, Copy
    from zonal.broker.state import BrokerState
    from zonal.geo import Point

QOS_0, QOS_1, PUBACK = 0x30, 0x32, 0x40
PUBLISHED = (QOS_0, QOS_1)


Parts = tuple[int, int, int, int, int]
"""Where body, packet identifier, properties and payload of a PUBLISH begin, and where it ends."""


class Express:
    """The short way through the broker; `take` is asked before the ordinary one."""

    def __init__(self, broker: BrokerState) -> None:
        self._distributor = broker.distributor
        self._headings = Headings(broker)
        self._counters = broker.counters
        self._ledger = broker.ledger
        self._matching = broker.matching
        self._mixed = -1  # the stamp at which somebody with a geofence gets bytes of its own

    def take(self, connection: Connection, session: ClientSession, now: float) -> None:
        """Hands on all that is plain at the front of what a client has sent."""
        reader = connection.reader
        data, position = reader.data, reader.position
        may_publish: bool | None = None
        # A packet that goes on beyond what arrived is joined by the reader.
        while len(data) - position >= 4:
            first = data[position]
            if first == PUBACK:
                after = session.acknowledged_in(data, position, now)
            elif first in PUBLISHED:
                if may_publish is None:
                    may_publish = self._may_publish(connection, session)
                if not may_publish:
                    break
                after = self._published(connection, session, position, now)
            else:
                break
            if after == position:
                break
            position = reader.position = after
            connection.last_seen = now

    def _may_publish(self, connection: Connection, session: ClientSession) -> bool:
        """Whether nothing is forbidden to this client, nothing sent elsewhere, nothing blurred."""
        user = connection.user
        return (
            self._distributor.on_publish is None
            and (user is None or user.rules is None)
            and session.precision_m is None
            and connection.entrance.limits.maximum_qos > 0
        )

    def _published(
        self, connection: Connection, session: ClientSession, start: int, now: float
    ) -> int:
        """Hands on the message that begins here; where it ends, or `start` if it is not plain."""
        data, version, place = connection.reader.data, connection.version, session.location
        parts = _parts(data, start, version)
        if parts is None or parts[-1] - start > connection.reader.limit:
            return start
        if self._matching.has_fences and version == 5 and data[start] == QOS_0 and not place:
            after = self._hand_on_by_place(data, start, parts, now)
            if after != start:
                return after
        heading = self._heading(data, parts, place)
        receivers = None if heading is None else self._headings.receivers(heading)
        if heading is None or receivers is None or not receivers.alike:
            return start
        copies = receivers.copies
        if data[start] == QOS_0:
            return self._hand_on(heading, copies, version, data, start, parts, now)
        return self._deliver(connection, session, heading, copies, data, start, parts, now)

    def _heading(self, data: bytes, parts: Parts, place: Point | None) -> Heading | None:
        body, name, properties, payload, _ = parts
        key = data[body:payload]
        if properties != name:
            key = data[body:name] + data[properties:payload]
        if place is not None:
            key = _mark(place) + key
        kept = self._headings.kept
        heading = kept.get(key)
        if heading is None and key not in kept:
            return self._headings.read(key, data[body:name], data[properties:payload], place)
        return heading

    def _hand_on(
        self, heading: Heading, copies: list[Copy], version: int, data: bytes, start: int,
        parts: Parts, now: float,
    ) -> int:  # fmt: skip
        """QoS 0: one message, and those like it that follow at once; where they end.

        While nobody asks for places, messages that differ in their place alone are alike.
        """
        _, _, properties, payload, end = parts
        size, last, alike = end - start, len(data) - (end - start), heading.is_read
        before = payload if alike else properties + VALUE
        head = data[start:before]
        while (
            end <= last
            and data.startswith(head, end)
            and (alike or TWO_NUMBERS.fullmatch(data, end + before - start, end + payload - start))
        ):
            end += size
        self._counters.received += (end - start) // size
        self._spread(heading, copies, version, data, start, parts, end, now)
        return end

    def _hand_on_by_place(self, data: bytes, start: int, parts: Parts, now: float) -> int:
        """QoS 0, where places are asked for: messages that differ in their place alone.

        Who gets which of them is found for all at once. Where they end, or `start` where this one
        stands alone, or somebody gets some of them in a way of its own.
        """
        body, name, properties, payload, end = parts
        size, last = end - start, len(data) - (end - start)
        head = data[start : properties + VALUE]
        distributor = self._distributor
        if end > last or not data.startswith(head, end) or self._mixed == distributor.stamp:
            return start
        heading = self._headings.by_place(data[body:name], data[properties:payload])
        anywhere = None if heading is None else distributor.anywhere(heading.topic)
        if heading is None or anywhere is None or not anywhere.alike:
            return start
        lats, lons, end = [], [], start
        first, after = properties + VALUE - start, payload - start
        while (
            end <= last
            and data.startswith(head, end)
            and TWO_NUMBERS.fullmatch(data, end + first, end + after)
        ):
            lat, lon = data[end + first : end + after].split(b",")
            lats.append(float(lat))
            lons.append(float(lon))
            end += size
        numbers, found = self._matching.fenced_each(heading.topic, lats, lons)
        several = False
        for subscription in found:
            if not subscription.plain or subscription.copy.identifiers:
                self._mixed = distributor.stamp
                return start
            several = several or len(subscription.session.subscriptions) > 1
        if several:
            numbers, found = _once_each(numbers, found, anywhere)
        counters = self._counters
        counters.received += len(lats)
        self._spread(heading, anywhere.copies, 5, data, start, parts, end, now)
        for number, subscription in zip(numbers, found, strict=True):
            connection = subscription.session.connection
            at = start + number * size
            if (
                connection is not None
                and connection.verbatim == 5
                and connection.writable
                and size <= connection.maximum_packet
            ):
                connection.send(data[at : at + size])
                counters.sent += 1
            else:
                its = _shifted(parts, at - start)
                self._spread(heading, [subscription.copy], 5, data, at, its, at + size, now)
        return end

    def _spread(
        self, heading: Heading, copies: list[Copy], version: int, data: bytes, start: int,
        parts: Parts, end: int, now: float,
    ) -> None:  # fmt: skip
        """Gives messages of one size, with one heading but for their place, to all of these."""
        size, payload = parts[-1] - start, parts[-2]
        own = heading if heading.is_read else None
        count, counters = (end - start) // size, self._counters
        same, mine = version if heading.as_sent else -1, data[start:end]
        forms: dict[int, bytes] = {}  # what receivers of other versions get
        for session, _, _, _ in copies:
            connection = session.connection
            if connection is None and not session.ledger.queues_qos_0:
                continue
            if connection is None:
                self._one_by_one(own, session, data, start, parts, end, now)
            elif not connection.writable:
                counters.dropped += count
            elif connection.verbatim == same and size <= connection.maximum_packet:
                connection.send(mine)
                counters.sent += count
            else:
                whole = forms.get(connection.verbatim)
                if whole is None:
                    payloads = [
                        data[at + payload - start : at + size] for at in range(start, end, size)
                    ]
                    whole = b"".join(heading.front(connection.verbatim, 0, start + size - payload))
                    whole = forms[connection.verbatim] = whole + whole.join(payloads)
                if connection.verbatim and len(whole) <= connection.maximum_packet * count:
                    connection.send(whole)
                    counters.sent += count
                    continue
                self._one_by_one(own, session, data, start, parts, end, now)

    def _one_by_one(
        self, heading: Heading | None, session: ClientSession, data: bytes, start: int,
        parts: Parts, end: int, now: float,
    ) -> None:  # fmt: skip
        """Gives a session messages of one size that it cannot get together.

        Without a heading for all, each has its own: they come from different places.
        """
        for shift in range(0, end - start, parts[-1] - start):
            its = _shifted(parts, shift)
            _, _, _, payload, after = its
            own = heading or self._heading(data, its, None)
            assert own is not None
            self._headings.settle(own)
            message = own.message(data[payload:after], 0, "")
            session.deliver(Encodings(message, now), 0, False, ())

    def _deliver(
        self, connection: Connection, session: ClientSession, heading: Heading,
        copies: list[Copy], data: bytes, start: int, parts: Parts, now: float,
    ) -> int:  # fmt: skip
        """QoS 1: receivers' bytes are the sender's, around the packet identifier."""
        _, name, _, payload, end = parts
        packet_id = data[name : name + 2]
        if packet_id == b"\0\0" or not self._headings.settle(heading):
            return start
        self._counters.received += 1
        message = heading.message(data[payload:end], 1, session.client_id)
        version = connection.version
        same = version if heading.as_sent else -1
        mine = (data[start:name], data[name + 2 : end])
        self._send(Encodings(message, now, heading), copies, same, mine)
        if copies or version == 4 or self._matching.has_places(message):
            connection.send(b"\x40\x02" + packet_id)
        else:
            code = reason_codes.NO_MATCHING_SUBSCRIBERS
            connection.send(b"\x40\x03" + packet_id + bytes((code,)))
        return end

    def _send(
        self, encodings: Encodings, copies: list[Copy], same: int, mine: tuple[bytes, bytes]
    ) -> None:
        """Sends at once to those who can take it; those in step get the same bytes."""
        message = encodings.message
        entry, weight = Outgoing(message, 1, False, ()), message.size
        # Its size already counts more than any form of it takes beside topic and payload.
        has_room = self._ledger.has_room(message, durable=False)
        last_id = last_version = sent = 0
        whole = b""
        for receiver, qos, _, _ in copies:
            packet_id = receiver.begin(entry, weight) if qos and has_room else 0
            if not packet_id:
                receiver.deliver(encodings, 1 if qos else 0, False, ())
                continue
            connection = receiver.connection
            assert connection is not None
            version = connection.verbatim
            if packet_id != last_id or version != last_version:
                last_id, last_version = packet_id, version
                head, tail = mine if version == same else encodings.parts((version, 1, False, ()))
                whole = head + packet_id.to_bytes(2, "big") + tail
            connection.send(whole)
            sent += 1
        if sent:
            self._ledger.hold(message, sent)
            self._counters.sent += sent


def _parts(data: bytes, start: int, version: int) -> Parts | None:
    """The parts of a PUBLISH that has arrived as a whole, of the usual lengths."""
    length, body = data[start + 1], start + 2
    if length >= 0x80:
        high = data[body]
        if not 0 < high < 0x80:
            return None
        length, body = length & 0x7F | high << 7, body + 1
    end = body + length
    if end > len(data) or length < 3:
        return None
    after_topic = body + 2 + (data[body] << 8 | data[body + 1])
    payload = properties = after_topic if data[start] == QOS_0 else after_topic + 2
    if version == 5:
        if properties >= end or data[properties] >= 0x80:
            return None
        payload += 1 + data[properties]
    return (body, after_topic, properties, payload, end) if payload <= end else None


def _shifted(parts: Parts, by: int) -> Parts:
    body, name, properties, payload, end = parts
    return body + by, name + by, properties + by, payload + by, end + by


def _once_each(
    numbers: list[int], found: list[ClientSubscription], anywhere: Receivers
) -> tuple[list[int], list[ClientSubscription]]:
    """Leaves out who gets a message already, by another subscription of the same client."""
    all_of_them = {copy.session for copy in anywhere.copies}
    pairs = {
        (number, subscription.session): subscription
        for number, subscription in zip(numbers, found, strict=True)
        if subscription.session not in all_of_them
    }
    return [number for number, _ in pairs], list(pairs.values())


@lru_cache(maxsize=4096)
def _mark(place: Point) -> bytes:
    """What tells apart the headings of clients at different places; no topic begins so."""
    return b"\xff" + location_text(place).encode() + NO_PROPERTIES

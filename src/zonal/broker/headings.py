"""Headings: what PUBLISH packets say before their payload, read once and kept by their bytes.

A sensor says the same in front of every payload: topic, properties, often its place. So that part
is decoded, checked and matched when it is seen for the first time; from then on its bytes find it.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from zonal.broker import packet_fields, packet_reader
from zonal.broker.geocontext import ATTESTED, LOCATION, follows, with_location
from zonal.broker.geotopics import Address
from zonal.broker.message import Message
from zonal.broker.publishing import check_properties
from zonal.broker.version_311 import variable
from zonal.errors import GeometryError, MqttError
from zonal.geo import Point

if TYPE_CHECKING:
    from collections.abc import Mapping

    import mqtt5

    from zonal.broker.receivers import Receivers
    from zonal.broker.state import BrokerState
    from zonal.geo import Area

GEO = b"$geo/"
NO_ADDRESS = Address("", None, None)
KEPT = 4096
LONGEST_KEPT = 640
"""Bytes of topic and properties; longer ones take the ordinary way."""
NO_PROPERTIES = b"\0"
ONLY_LOCATION = b"\x26\x00\x08location"
TWO_NUMBERS = re.compile(
    rb"[+-]?(?:[0-8]?\d(?:\.\d+)?|90(?:\.0+)?),\s?"
    rb"[+-]?(?:(?:1[0-7])?\d(?:\.\d+)?|\d\d(?:\.\d+)?|180(?:\.0+)?)"
)
"""A latitude and a longitude in degrees."""
VALUE = 14
"""Where the value begins in a property list that is one location."""


class Heading:
    """Topic, places and properties of messages that are handed on as bytes."""

    as_sent = True
    """Whether receivers of the sender's version get exactly the sender's bytes."""
    is_read = True
    """False while the properties are one location that nobody has asked for yet."""
    location: Point | None = None
    geofence: Area | None = None
    rest: Mapping[str, Any] | None = MappingProxyType({})
    """What else a `Message` of this heading has; None for one location, until it is asked for."""
    receivers: Receivers | None = None
    stamp = -1

    def __init__(self, topic: str, name: bytes, properties: bytes) -> None:
        self.topic = topic
        self.name = name
        """The topic as it is sent, with its length."""
        self.properties = properties
        """The properties as version 5 receivers get them, with their length."""

    def message(self, payload: bytes, qos: int, source: str) -> Message:
        """A message with this heading."""
        message = Message(self.topic, payload, qos, False, source)
        rest = self.rest
        if rest is None:
            rest = self.rest = {
                "user_properties": [(LOCATION, self.properties[VALUE:].decode())],
                "location": self.location,
                "extra": len(self.properties),
            }
        if rest:  # most have none
            message.__dict__.update(rest)
        return message

    def front(self, version: int, qos: int, payload: int) -> tuple[bytes, bytes]:
        """The bytes before and after the packet identifier, in front of so many of payload."""
        after = self.properties if version == 5 else b""
        size = len(self.name) + len(after) + payload + (2 if qos else 0)
        return bytes((0x30 | qos << 1,)) + variable(size) + self.name, after


class Headings:
    """The headings seen of late; what cannot be handed on as bytes is remembered as None."""

    def __init__(self, broker: BrokerState) -> None:
        self._broker = broker
        self._distributor = broker.distributor
        self._matching = broker.matching
        self._topics: dict[bytes, str] = {}
        self.kept: dict[bytes, Heading | None] = {}

    def read(
        self, key: bytes, name: bytes, properties: bytes, place: Point | None
    ) -> Heading | None:
        """Makes and keeps a heading.

        Args:
            key: the bytes it is found by.
            name: the topic, with its length.
            properties: of version 5, with their length; of version 3.1.1 empty.
            place: where the sender is.
        """
        if len(key) > LONGEST_KEPT:
            return None
        heading = self._make(name, properties, place)
        if len(self.kept) >= KEPT:
            self.kept.clear()
        self.kept[key] = heading
        return heading

    def receivers(self, heading: Heading) -> Receivers | None:
        """Who gets a message with this heading, as of now; None for the ordinary way to decide."""
        distributor = self._distributor
        if not heading.is_read and self._matching.has_fences and not self.settle(heading):
            return None
        topic, location, geofence = heading.topic, heading.location, heading.geofence
        if location is None and geofence is None:
            return distributor.by_topic.get(topic) or distributor.on_topic(topic)
        if heading.stamp != distributor.stamp:
            heading.receivers = distributor.at(topic, location, geofence)
            heading.stamp = distributor.stamp
        return heading.receivers

    def by_place(self, name: bytes, properties: bytes) -> Heading | None:
        """A heading of messages that have one location each; None where there is more to it."""
        settings = self._broker.settings
        if settings.strict or not settings.geo or not is_only_location(properties):
            return None
        topic = self._topics.get(name) or self._topic(name)
        return None if topic is None else _located(topic, name, properties)

    def settle(self, heading: Heading) -> bool:
        """Reads a heading's one location, if it has not been read; whether it has one."""
        if not heading.is_read and self._broker.settings.geo:
            lat, _, lon = heading.properties[VALUE:].partition(b",")
            heading.location = Point(float(lat), float(lon))
            heading.is_read = True
        return heading.is_read

    def _make(self, name: bytes, properties: bytes, place: Point | None) -> Heading | None:
        if name.startswith(GEO, 2) and self._broker.settings.geo:
            return self._addressed(name, properties or NO_PROPERTIES, place)
        topic = self._topics.get(name) or self._topic(name)
        if topic is None:
            return None
        if len(properties) <= 1 and place is None:
            return Heading(topic, name, NO_PROPERTIES)
        if is_only_location(properties):
            heading = _located(topic, name, properties)
            if place is None and not self._broker.settings.strict:
                return heading
            if self.settle(heading):
                return heading
        return self._read(topic, name, properties or NO_PROPERTIES, place)

    def _addressed(self, name: bytes, properties: bytes, place: Point | None) -> Heading | None:
        """A heading whose topic names a place: receivers see the plain topic."""
        try:
            address = self._broker.geotopics.address(name[2:].decode(), place)
        except (UnicodeDecodeError, GeometryError):
            return None
        encoded = address.topic.encode()
        plain = len(encoded).to_bytes(2, "big") + encoded
        topic = self._topics.get(plain) or self._topic(plain)
        if topic is None:
            return None
        return self._read(topic, plain, properties, address.location or place, address)

    def _topic(self, name: bytes) -> str | None:
        """The topic that these bytes name, if clients may publish to it."""
        try:
            topic = name[2:].decode()
        except UnicodeDecodeError:
            return None
        rules = self._broker.settings.locations.apply_to(topic)
        if rules or self._distributor.on_topic(topic) is None:
            return None
        if len(self._topics) >= KEPT:
            self._topics.clear()
        self._topics[name] = topic
        return topic

    def _read(
        self, topic: str, name: bytes, properties: bytes, place: Point | None,
        address: Address = NO_ADDRESS,
    ) -> Heading | None:  # fmt: skip
        """A heading with any properties, of a client that may have a place."""
        packet = _decoded(name, properties)
        if packet is None or not self._is_plain(packet):
            return None
        pairs = packet.user_properties
        try:
            context = self._broker.context(pairs, counted=False)
        except GeometryError:
            return None
        if follows(context.geofence) or context.unread or context.hint:
            return None  # these are refused, counted or answered one by one
        if ATTESTED in pairs:
            return None  # who gets it depends on the moment
        if (address.location and context.location) or (address.geofence and context.geofence):
            return None
        rest = Message.from_packet(packet, topic, b"", 0.0).__dict__
        for own in ("topic", "payload", "qos", "retain", "source"):
            del rest[own]
        heading = Heading(topic, name, properties)
        heading.location, heading.geofence = context.location or place, context.geofence
        if address.geofence is not None:
            heading.geofence = address.geofence
        rest["user_properties"] = with_location(pairs, context, heading.location)
        rest["location"], rest["geofence"] = heading.location, heading.geofence
        heading.rest = rest
        heading.as_sent = address is NO_ADDRESS and heading.location is context.location
        if heading.location is not context.location:
            heading.properties = _encoded(topic, rest, len(name))
        return heading

    def _is_plain(self, packet: mqtt5.PublishPacket) -> bool:
        """Whether nothing in it depends on the moment, the connection or the payload."""
        try:
            check_properties(packet, self._broker.settings.limits)
        except MqttError:
            return False
        return (
            packet.topic_alias is None
            and packet.message_expiry_interval is None
            and not packet.subscription_ids
            and not packet.payload_format_indicator
        )


def _located(topic: str, name: bytes, properties: bytes) -> Heading:
    """A heading with a location that nobody has asked for yet."""
    heading = Heading(topic, name, properties)
    heading.is_read, heading.rest = False, None
    return heading


def is_only_location(properties: bytes) -> bool:
    """Whether a property list is one user property `location` with a place in degrees."""
    return (
        properties.startswith(ONLY_LOCATION, 1)
        and TWO_NUMBERS.fullmatch(properties, VALUE) is not None
        and (properties[12] << 8 | properties[13]) == len(properties) - VALUE
        and properties[0] == len(properties) - 1
    )


def _decoded(name: bytes, properties: bytes) -> mqtt5.PublishPacket | None:
    """The packet that has this in front of an empty payload; None where there is none."""
    front = b"\x30" + variable(len(name) + len(properties))
    data = front + name + properties
    try:
        packet_fields.check_publish(data, len(front), len(data), data[0])
        packet: Any = packet_reader.read(data, 0, len(data))
    except MqttError:
        return None
    publish: mqtt5.PublishPacket = packet
    return publish


def _encoded(topic: str, rest: dict[str, Any], name_size: int) -> bytes:
    """The properties of a message, with their length."""
    message = Message(topic, b"")
    message.__dict__.update(rest)
    data = message.packet(0.0, 0, retain=False).write()
    position = 2
    while data[position - 1] >= 0x80:
        position += 1
    return data[position + name_size :]

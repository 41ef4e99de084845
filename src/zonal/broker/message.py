"""An application message on its way through the broker, and the bytes it is sent as."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import mqtt5

from zonal.broker import version_311
from zonal.broker.geocontext import ATTESTED
from zonal.broker.version_311 import QOS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.geo import Area, Point
    from zonal.trust import Attestation


OVERHEAD = 300
"""Bytes that a message takes beside its topic, payload and properties."""


class Message:
    """What a client published; not changed from then on, so that sessions can share it.

    Most messages have none of the optional parts, so these are defaults of the class: making an
    ordinary message sets five attributes.
    """

    payload_format = 0
    expires_at: float | None = None
    content_type: str | None = None
    response_topic: str | None = None
    correlation_data: bytes | None = None
    user_properties: Sequence[tuple[str, str]] = ()
    location: Point | None = None
    geofence: Area | None = None
    key = 0
    """Its number in the store; 0 while no durable session holds it."""
    retained_at = 0.0
    """When it became its topic's retained message."""
    references = 0
    """How many durable queues hold it."""
    serial = 0
    """Its number at the broker where it was published; 0 where that has none."""
    holders = 0
    """How many sessions hold it, waiting or under way."""
    extra = 0
    """Bytes of its properties."""

    def __init__(self, topic: str, payload: bytes, qos: int = 0, retain: bool = False,
                 source: str | None = None) -> None:  # fmt: skip
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.source = source
        """The client that published it; None for the broker's own and for other brokers'."""

    @classmethod
    def from_packet(
        cls, packet: mqtt5.PublishPacket | mqtt5.Will, topic: str, payload: bytes, now: float
    ) -> Message:
        """The message in a PUBLISH or a will, with its properties; its lifetime begins now."""
        message = cls(topic, payload, int(packet.qos), packet.retain)
        message.payload_format = packet.payload_format_indicator
        lifetime = packet.message_expiry_interval
        message.expires_at = None if lifetime is None else now + lifetime
        message.content_type = packet.content_type
        message.response_topic = packet.response_topic
        message.correlation_data = packet.correlation_data
        message.user_properties = packet.user_properties
        message.extra = len(message.correlation_data or b"") + len(message.response_topic or "")
        for name, value in message.user_properties:
            message.extra += len(name) + len(value)
        return message

    @property
    def attested_fence(self) -> Area | None:
        """Its geofence, where that is for clients alone whose position somebody vouches for."""
        return self.geofence if ATTESTED in self.user_properties else None

    def lets_in(self, attestation: Attestation | None, now: float) -> bool:
        """Whether an attested position is not asked for, or this one is inside the geofence."""
        fence = self.attested_fence
        return fence is None or (attestation is not None and attestation.holds_in(fence, now))

    @cached_property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        return len(self.payload) + len(self.topic) + self.extra + OVERHEAD

    def expired(self, now: float) -> bool:
        """Whether its message expiry interval has passed."""
        return self.expires_at is not None and now >= self.expires_at

    def packet(
        self, now: float, qos: int, *, retain: bool, identifiers: tuple[int, ...] = (),
        packet_id: int | None = 1, topic: str | None = None, alias: int | None = None,
        payload: bytes | None = None,
    ) -> mqtt5.PublishPacket:  # fmt: skip
        """This message as version 5 sends it now, with what is left of its lifetime."""
        expiry = None if self.expires_at is None else max(0, round(self.expires_at - now))
        return mqtt5.PublishPacket(
            self.topic if topic is None else topic,
            self.payload if payload is None else payload,
            qos=QOS[qos],
            retain=retain,
            packet_id=packet_id if qos else None,
            payload_format_indicator=self.payload_format,
            message_expiry_interval=expiry,
            content_type=self.content_type,
            response_topic=self.response_topic,
            correlation_data=self.correlation_data,
            subscription_ids=list(identifiers),
            topic_alias=alias,
            user_properties=list(self.user_properties),
        )


Form = tuple[int, int, bool, tuple[int, ...]]
"""Version, QoS, retain, subscription identifiers: what makes receivers' bytes differ."""


class Front(Protocol):
    """Knows the bytes of a message in front of its payload."""

    def front(self, version: int, qos: int, payload: int) -> tuple[bytes, bytes]:
        """Those before and after the packet identifier, for a payload of so many bytes."""


class Encodings:
    """One message's bytes for this moment: each distinct form is encoded once.

    With QoS 1 and 2 receivers of one form differ in the packet identifier alone, so a form is kept
    as the bytes before and after it.
    """

    __slots__ = ("_forms", "_front", "message", "now")

    def __init__(self, message: Message, now: float, front: Front | None = None) -> None:
        self.message = message
        self.now = now
        self._front = front
        self._forms: dict[Form, tuple[bytes, bytes]] = {}

    def parts(self, form: Form) -> tuple[bytes, bytes]:
        """The bytes before and after the packet identifier (QoS 0: all of them, and none)."""
        known = self._forms.get(form)
        if known is None:
            known = self._forms[form] = self._encode(*form)
        return known

    def _encode(
        self, version: int, qos: int, retain: bool, identifiers: tuple[int, ...]
    ) -> tuple[bytes, bytes]:
        message = self.message
        if self._front is not None and not retain and not identifiers:
            before, after = self._front.front(version, qos, len(message.payload))
            after += message.payload
            return (before, after) if qos else (before + after, b"")
        if version == 4:
            head = version_311.publish_head(
                message.topic.encode(), message.payload, qos, retain=retain
            )
            return (head, message.payload) if qos else (head + message.payload, b"")
        data = message.packet(self.now, qos, retain=retain, identifiers=identifiers).write()
        return split_at_packet_id(data) if qos else (data, b"")


def split_at_packet_id(data: bytes) -> tuple[bytes, bytes]:
    """The parts of an encoded PUBLISH before and after its packet identifier."""
    position = 1
    while data[position] >= 0x80:
        position += 1
    position += 1
    cut = position + 2 + int.from_bytes(data[position : position + 2], "big")
    return data[:cut], data[cut + 2 :]


def is_text(payload: bytes) -> bool:
    """Whether a payload is UTF-8: only then may the payload format indicator say so."""
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True

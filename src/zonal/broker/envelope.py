"""An MQTT message between brokers: what Zenoh's payload does not hold goes into the attachment.

```
bytes 0–3    0xFF "MQ6": the first byte is none that a geo-context begins with
bytes 4–11   broker: a random number for each start of a broker
bytes 12–19  number of the message at that broker
bytes 20–27  when it was sent: seconds since 1970, a double
then         an MQTT 5 PUBLISH without payload: topic, QoS, retain and all properties
last 16      where brokers have a secret: a code of all of that, the payload and the places
```
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING, NamedTuple

import mqtt5

from zonal.broker.message import Message
from zonal.broker.packet_reader import read
from zonal.errors import AttachmentError, MqttError
from zonal.trust import code_of, is_code_of, written_places

if TYPE_CHECKING:
    from zonal.geo import Area, Point

HEAD = struct.Struct(">4sQQd")
CODE = 16
MAGIC = b"\xffMQ6"
LIFETIME_S = 60.0
"""How old what brokers mark may be, and how far their clocks may differ."""


class Envelope(NamedTuple):
    """Who sent a message, its number there, when, and its MQTT side."""

    broker: int
    number: int
    when: float
    packet: mqtt5.PublishPacket


class Arrived(NamedTuple):
    """A broker's message, and what tells it from all others."""

    message: Message
    broker: int
    number: int
    digest: bytes


def seal(message: Message, broker: int, number: int, now: float, secret: bytes = b"") -> bytes:
    """The attachment of a message."""
    packet = message.packet(
        now, message.qos, retain=message.retain, packet_id=1 if message.qos else None,
        payload=b"",
    )  # fmt: skip
    data = HEAD.pack(MAGIC, broker, number, now) + packet.write()
    if not secret:
        return data
    return data + code_of(
        secret, data, message.payload, written_places(message.location, message.geofence)
    )


def unseal(
    attachment: bytes | None,
    payload: bytes = b"",
    location: Point | None = None,
    geofence: Area | None = None,
    *,
    now: float = 0.0,
    secret: bytes = b"",
) -> Arrived | None:
    """A broker's message; None where it is one of a Zenoh client.

    With a secret it must be of somebody who knows it, for these places, and of now.
    """
    data = attachment
    if attachment is None or data is None or not data.startswith(MAGIC):
        return None
    if secret:
        data, found = data[:-CODE], data[-CODE:]
        if not is_code_of(found, secret, data, payload, written_places(location, geofence)):
            raise AttachmentError("a broker's attachment is not marked with the brokers' secret")
    envelope = read_envelope(data)
    if secret and abs(now - envelope.when) > LIFETIME_S:
        raise AttachmentError(
            f"a broker's message is {now - envelope.when:.0f} seconds old: it was recorded and "
            "sent again, or the clocks of the brokers differ"
        )
    message = opened(envelope, payload, now)
    message.location, message.geofence = location, geofence
    digest = hashlib.blake2b(attachment + payload, digest_size=16).digest()
    return Arrived(message, envelope.broker, envelope.number, digest)


def read_envelope(data: bytes) -> Envelope:
    """The envelope in these bytes."""
    try:
        _, broker, number, when = HEAD.unpack_from(data)
        packet = read(data, HEAD.size, len(data))
    except (struct.error, MqttError) as error:
        raise AttachmentError(f"a broker's attachment cannot be read: {error}") from error
    if not isinstance(packet, mqtt5.PublishPacket):
        raise AttachmentError("a broker's attachment holds no PUBLISH")
    return Envelope(broker, number, when, packet)


def opened(envelope: Envelope, payload: bytes, now: float) -> Message:
    """The message for this broker's clients; places are added by who knows them."""
    packet = envelope.packet
    return Message.from_packet(packet, packet.topic, payload, now)

"""An MQTT message between brokers: what Zenoh's payload does not hold goes into the attachment.

```
bytes 0–3    0xFF "MQ5": the first byte is none that a geo-context begins with
bytes 4–11   broker: a random number for each start of a broker
bytes 12–19  number of the message at that broker
then         an MQTT 5 PUBLISH without payload: topic, QoS, retain and all properties
last 16      where brokers have a secret: BLAKE2b of all of that and the payload, keyed with it
```
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from typing import NamedTuple

import mqtt5

from zonal.broker.message import Message
from zonal.broker.packet_reader import read
from zonal.errors import AttachmentError, MqttError

HEAD = struct.Struct(">4sQQ")
MARK = 16
MAGIC = b"\xffMQ5"


class Envelope(NamedTuple):
    """Who sent a message, its number there, and its MQTT side."""

    broker: int
    number: int
    packet: mqtt5.PublishPacket


def mark(secret: bytes, *parts: bytes) -> bytes:
    """What only who knows the secret can make of these bytes; nothing without a secret."""
    if not secret:
        return b""
    key = hashlib.blake2b(secret).digest()
    sizes = b"".join(len(part).to_bytes(8, "big") for part in parts)
    return hashlib.blake2b(sizes + b"".join(parts), key=key, digest_size=MARK).digest()


def is_marked(found: bytes, secret: bytes, *parts: bytes) -> bool:
    """Whether a mark is that of these bytes."""
    return hmac.compare_digest(found, mark(secret, *parts))


def seal(message: Message, broker: int, number: int, now: float, secret: bytes = b"") -> bytes:
    """The attachment of a message."""
    packet = message.packet(
        now, message.qos, retain=message.retain, packet_id=1 if message.qos else None,
        payload=b"",
    )  # fmt: skip
    data = HEAD.pack(MAGIC, broker, number) + packet.write()
    return data + mark(secret, data, message.payload)


def unseal(data: bytes | None, payload: bytes = b"", secret: bytes = b"") -> Envelope | None:
    """The envelope in an attachment; None where there is none: a message from a Zenoh client."""
    if data is None or not data.startswith(MAGIC):
        return None
    if secret:
        data, found = data[:-MARK], data[-MARK:]
        if not is_marked(found, secret, data, payload):
            raise AttachmentError("a broker's attachment is not marked with the brokers' secret")
    try:
        _, broker, number = HEAD.unpack_from(data)
        packet = read(data, HEAD.size, len(data))
    except (struct.error, MqttError) as error:
        raise AttachmentError(f"a broker's attachment cannot be read: {error}") from error
    if not isinstance(packet, mqtt5.PublishPacket):
        raise AttachmentError("a broker's attachment holds no PUBLISH")
    return Envelope(broker, number, packet)


def opened(envelope: Envelope, payload: bytes, now: float) -> Message:
    """The message for this broker's clients; places are added by who knows them."""
    packet = envelope.packet
    return Message.from_packet(packet, packet.topic, payload, now)

"""An MQTT message between brokers: what Zenoh's payload does not hold goes into the attachment.

```
bytes 0–3    0xFF "MQ5": the first byte is none that a geo-context begins with
bytes 4–11   broker: a random number for each start of a broker
bytes 12–19  number of the message at that broker
then         an MQTT 5 PUBLISH without payload: topic, QoS, retain and all properties
```
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import mqtt5

from zonal.broker.message import Message
from zonal.broker.packet_reader import read
from zonal.errors import AttachmentError, MqttError

HEAD = struct.Struct(">4sQQ")
MAGIC = b"\xffMQ5"


class Envelope(NamedTuple):
    """Who sent a message, its number there, and its MQTT side."""

    broker: int
    number: int
    packet: mqtt5.PublishPacket


def seal(message: Message, broker: int, number: int, now: float) -> bytes:
    """The attachment of a message."""
    packet = message.packet(
        now, message.qos, retain=message.retain, packet_id=1 if message.qos else None,
        payload=b"",
    )  # fmt: skip
    return HEAD.pack(MAGIC, broker, number) + packet.write()


def unseal(data: bytes | None) -> Envelope | None:
    """The envelope in an attachment; None where there is none: a message from a Zenoh client."""
    if data is None or not data.startswith(MAGIC):
        return None
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

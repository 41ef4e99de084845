"""MQTT 3.1.1 and 3.1 on the wire, read into and written from the packets of version 5.

They have no properties and fewer codes; everything behind this module speaks version 5. On the wire
version 3.1 is 3.1.1 under another protocol name, but for two things: a user name or password that
is announced may be missing, and CONNACK never says that a session is present.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mqtt5

from zonal.broker import reason_codes
from zonal.broker.packet_fields import Fields, check_connect_flags
from zonal.broker.reason_codes import malformed, protocol_error
from zonal.broker.settings import NEVER
from zonal.broker.topics import valid_filter
from zonal.errors import MqttError

if TYPE_CHECKING:
    from collections.abc import Callable

LEVELS = 1 << 16
"""More than a filter can have: how many are taken is decided later."""
QOS = (mqtt5.QoS.AT_MOST_ONCE, mqtt5.QoS.AT_LEAST_ONCE, mqtt5.QoS.EXACTLY_ONCE)

# CONNACK return codes (3.1.1, table 3.1) for version 5's reason codes.
RETURN_CODES = {
    reason_codes.SUCCESS: 0,
    reason_codes.UNSUPPORTED_VERSION: 1,
    reason_codes.CLIENT_ID_NOT_VALID: 2,
    reason_codes.BAD_CREDENTIALS: 4,
    reason_codes.NOT_AUTHORIZED: 5,
}


UNANSWERED = {
    reason_codes.MALFORMED,
    reason_codes.PROTOCOL_ERROR,
    reason_codes.TOPIC_INVALID,
    reason_codes.PACKET_TOO_LARGE,
}
"""A CONNECT that breaks the protocol is not answered: the connection is closed."""


def decode(data: bytes, first: int, body: int, end: int) -> mqtt5.Packet:
    """One packet from a 3.1.1 client."""
    kind = first >> 4
    decoder = DECODERS.get(kind)
    if decoder is None:
        raise protocol_error(f"packet type {kind} is not a 3.1.1 client's")
    fields = Fields(data, body, end)
    try:
        packet = decoder(fields, first)
    except MqttError:
        raise
    except ValueError as error:  # the codec's packets refuse bad topics and filters
        raise malformed(str(error)) from error
    if fields.position != end:
        raise malformed("the packet is longer than its fields")
    return packet


def _connect(fields: Fields, _: int) -> mqtt5.Packet:
    is_old = fields.text() == "MQIsdp"
    fields.byte()
    flags = fields.byte()
    check_connect_flags(flags)
    if flags & 0xC0 == 0x40:
        raise malformed("3.1.1 allows no password without a user name")
    keep_alive = fields.two()
    client_id = fields.text()
    will = None
    if flags & 0x04:
        will = mqtt5.Will(
            fields.text(),
            payload=fields.binary(),
            qos=QOS[flags >> 3 & 3],
            retain=bool(flags & 0x20),
        )
    clean = bool(flags & 0x02)
    return mqtt5.ConnectPacket(
        client_id,
        username=fields.text() if _has(fields, flags & 0x80, is_old=is_old) else None,
        password=fields.binary() if _has(fields, flags & 0x40, is_old=is_old) else None,
        clean_start=clean,
        will=will,
        keep_alive=keep_alive,
        session_expiry_interval=0 if clean else NEVER,
    )


def _has(fields: Fields, flag: int, *, is_old: bool) -> bool:
    """Whether a field is there: in 3.1 the packet's length says so, more than its flag."""
    return bool(flag) and not (is_old and fields.position == fields.end)


def _publish(fields: Fields, first: int) -> mqtt5.Packet:
    qos = first >> 1 & 3
    if qos == 3:
        raise malformed("the QoS must be 0, 1 or 2")
    if qos == 0 and first & 0x08:
        raise malformed("DUP must be 0 for QoS 0")
    topic = fields.text()
    if not topic:
        raise malformed("a topic has at least one character")
    packet_id = fields.two() if qos else None
    return mqtt5.PublishPacket(
        topic,
        fields.rest(),
        qos=QOS[qos],
        retain=bool(first & 0x01),
        duplicate=bool(first & 0x08),
        packet_id=packet_id,
    )


def _pattern(fields: Fields) -> str:
    """A topic filter; one that breaks the rules closes the connection (3.1.1, 4.7 and 4.8)."""
    pattern = fields.text()
    if not valid_filter(pattern, LEVELS):
        raise malformed(f"{pattern[:80]!r} is no topic filter")
    return pattern


def _subscribe(fields: Fields, _: int) -> mqtt5.Packet:
    packet_id = fields.two()
    filters = []
    while fields.position < fields.end:
        pattern, options = _pattern(fields), fields.byte()
        if options > 2:
            raise malformed("the requested QoS must be 0, 1 or 2")
        filters.append(mqtt5.TopicFilter(pattern, max_qos=QOS[options], retain_as_published=False))
    return mqtt5.SubscribePacket(packet_id, filters)


def _unsubscribe(fields: Fields, _: int) -> mqtt5.Packet:
    packet_id = fields.two()
    patterns = []
    while fields.position < fields.end:
        patterns.append(_pattern(fields))
    return mqtt5.UnsubscribePacket(packet_id, patterns)


DECODERS: dict[int, Callable[[Fields, int], mqtt5.Packet]] = {
    1: _connect,
    3: _publish,
    4: lambda fields, _: mqtt5.PubAckPacket(fields.two()),
    5: lambda fields, _: mqtt5.PubRecPacket(fields.two()),
    6: lambda fields, _: mqtt5.PubRelPacket(fields.two()),
    7: lambda fields, _: mqtt5.PubCompPacket(fields.two()),
    8: _subscribe,
    10: _unsubscribe,
    12: lambda _fields, _: mqtt5.PingReqPacket(),
    14: lambda _fields, _: mqtt5.DisconnectPacket(),
}


def connack(code: int, *, session_present: bool) -> bytes:
    """CONNACK with the nearest return code; 3 (server unavailable) where there is none."""
    return bytes((0x20, 2, session_present, RETURN_CODES.get(code, 3)))


def refusal(code: int) -> bytes:
    """CONNACK for a client that is not let in; none where its CONNECT was no good (3.1.4)."""
    return b"" if code in UNANSWERED else connack(code, session_present=False)


def suback(packet_id: int, codes: list[int]) -> bytes:
    """SUBACK: every failure is 0x80."""
    body = packet_id.to_bytes(2, "big") + bytes(min(code, reason_codes.FAILURE) for code in codes)
    return b"\x90" + variable(len(body)) + body


def unsuback(packet_id: int) -> bytes:
    """UNSUBACK: has no codes."""
    return b"\xb0\x02" + packet_id.to_bytes(2, "big")


def publish_head(topic: bytes, payload: bytes, qos: int, *, retain: bool) -> bytes:
    """The fixed header and the topic of a PUBLISH; packet identifier and payload follow."""
    size = 2 + len(topic) + (2 if qos else 0) + len(payload)
    first = 0x30 | qos << 1 | retain
    return bytes((first,)) + variable(size) + len(topic).to_bytes(2, "big") + topic


def variable(value: int) -> bytes:
    """A variable byte integer."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)

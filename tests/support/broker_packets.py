"""Packets put together byte by byte: the codec would refuse to make most of these."""

from __future__ import annotations

import struct


def text(value: bytes) -> bytes:
    return struct.pack(">H", len(value)) + value


def framed(first: int, body: bytes) -> bytes:
    assert len(body) < 128
    return bytes((first, len(body))) + body


def connect(flags: int = 2, properties: bytes = b"", rest: bytes = b"", client_id: bytes = b"a",
            name: bytes = b"MQTT", level: int = 5) -> bytes:  # fmt: skip
    body = text(name) + bytes((level, flags, 0, 60, len(properties))) + properties
    return framed(0x10, body + text(client_id) + rest)


def publish(first: int = 0x30, topic: bytes = b"t", packet_id: bytes = b"", properties: bytes = b"",
            payload: bytes = b"") -> bytes:  # fmt: skip
    body = text(topic) + packet_id + bytes((len(properties),)) + properties + payload
    return framed(first, body)


def subscribe(first: int = 0x82, packet_id: bytes = b"\0\1", properties: bytes = b"",
              filters: bytes = text(b"t") + b"\0") -> bytes:  # fmt: skip
    return framed(first, packet_id + bytes((len(properties),)) + properties + filters)

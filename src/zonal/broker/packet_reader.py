"""Cuts a client's byte stream into MQTT packets, and refuses what is none as early as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mqtt5

from zonal.broker import packet_fields, reason_codes, version_311
from zonal.broker.reason_codes import malformed, protocol_error
from zonal.errors import MqttError

if TYPE_CHECKING:
    from collections.abc import Callable

CONNECT, PUBLISH, AUTH = 1, 3, 15
PLAIN_PUBACK = 0x40
FLAGS = {1: 0, 4: 0, 5: 0, 6: 2, 7: 0, 8: 2, 10: 2, 12: 0, 14: 0, 15: 0}
"""The low bits of a packet's first byte, by the types that clients send beside PUBLISH."""

CHECKS: dict[int, Callable[[bytes, int, int], None]] = {
    1: packet_fields.check_connect,
    4: packet_fields.check_acknowledgement,
    5: packet_fields.check_acknowledgement,
    6: packet_fields.check_acknowledgement,
    7: packet_fields.check_acknowledgement,
    8: packet_fields.check_subscribe,
    10: packet_fields.check_unsubscribe,
    14: packet_fields.check_disconnect,
    15: packet_fields.check_disconnect,
}


class PacketReader:
    """One connection's incoming bytes: `feed` what arrives, `next` until it returns None."""

    __slots__ = ("_chunks", "_missing", "data", "is_31", "limit", "position", "version")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.version = 0
        """0 before CONNECT, then 4 (3.1.1 and 3.1) or 5."""
        self.is_31 = False
        """Whether it is version 3.1 that is spoken."""
        self.data = b""
        """What arrived, from `position` on not yet read; never with the start of it missing."""
        self.position = 0
        self._chunks: list[bytes] = []
        self._missing = 0

    @property
    def buffered(self) -> int:
        """Bytes that were taken and are not yet a packet."""
        return len(self.data) - self.position + sum(map(len, self._chunks))

    def feed(self, data: bytes) -> None:
        """Takes what arrived. Chunks of a large packet are joined once, when it is complete."""
        if self._missing > len(data):
            self._missing -= len(data)
            self._chunks.append(data)
            return
        if self._chunks:
            data = b"".join((*self._chunks, data))
            self._chunks.clear()
        elif self.position < len(self.data):
            data = self.data[self.position :] + data
        self._missing = 0
        self.data = data
        self.position = 0

    def next(self) -> mqtt5.Packet | None:
        """The next complete packet, or None; raises `MqttError` for what is no packet."""
        data, start = self.data, self.position
        size = len(data) - start
        if size < 2 or self._missing:
            if size == 1 and not self._missing:
                self._check_type(data[start])
            elif size == 0:
                self.data, self.position = b"", 0  # an idle client holds no buffer
            return None
        first = data[start]
        remaining = data[start + 1]
        body = start + 2
        if remaining >= 0x80:
            if size > 2 and 0 < data[body] < 0x80:  # two bytes, as most messages have
                remaining = remaining & 0x7F | data[body] << 7
                body += 1
            else:
                remaining, body = self._remaining_length(data, start)
            if body == 0:
                self._check_type(first)
                return None
        if first >> 4 != PUBLISH or not self.version:
            self._check_type(first)
        end = body + remaining
        if end - start > self.limit:
            raise MqttError(
                reason_codes.PACKET_TOO_LARGE,
                f"a packet of {end - start} bytes exceeds the maximum of {self.limit}",
            )
        if end > len(data):
            self._keep(start, end)
            return None
        self.position = end
        return self._decode(data, start, body, end)

    def _keep(self, start: int, end: int) -> None:
        rest = self.data[start:]
        self._missing = end - start - len(rest)
        self._chunks.append(rest)
        self.data = b""
        self.position = 0

    @staticmethod
    def _remaining_length(data: bytes, start: int) -> tuple[int, int]:
        """The remaining length and where the body starts; (0, 0) while it is incomplete."""
        value = 0
        for index in range(4):
            position = start + 1 + index
            if position >= len(data):
                return 0, 0
            part = data[position]
            value |= (part & 0x7F) << (7 * index)
            if part < 0x80:
                if part == 0:
                    raise malformed("the remaining length has more bytes than it needs")
                return value, position + 1
        raise malformed("the remaining length is longer than four bytes")

    def _check_type(self, first: int) -> None:
        """Refuses a packet by its first byte, before anything of it is kept."""
        kind = first >> 4
        if not self.version and kind != CONNECT:
            raise protocol_error("the first packet must be CONNECT")
        if kind == 0:
            raise malformed("packet type 0 is forbidden")
        if kind == PUBLISH:
            return
        if kind not in FLAGS:
            raise protocol_error(f"packet type {kind} is a server's")
        if first & 0x0F != FLAGS[kind]:
            raise malformed(f"packet type {kind} has wrong flags")

    def _decode(self, data: bytes, start: int, body: int, end: int) -> mqtt5.Packet:
        first = data[start]
        if not self.version:
            self._sniff_version(data, body, end)
        if self.version == 4:
            return version_311.decode(data, first, body, end)
        kind = first >> 4
        if kind == PUBLISH:
            self._check_publish(data, first, body, end)
        elif first == PLAIN_PUBACK and end - body == 2:
            return mqtt5.PubAckPacket(data[body] << 8 | data[body + 1])
        elif kind == AUTH and end == body:
            return mqtt5.AuthPacket()  # the codec does not know that all of it may be left out
        elif kind in CHECKS:
            CHECKS[kind](data, body, end)
        return read(data, start, end)

    def _sniff_version(self, data: bytes, body: int, end: int) -> None:
        """Finds out which protocol version a CONNECT asks for, and refuses those not served."""
        fields = packet_fields.Fields(data, body, end)
        name = fields.binary()
        level = fields.byte()
        if name not in {b"MQTT", b"MQIsdp"}:
            raise MqttError(reason_codes.UNSUPPORTED_VERSION, "the protocol name must be MQTT")
        # A client of a version that is not served is answered in the nearest that is.
        self.is_31 = name == b"MQIsdp"
        self.version = 5 if level >= 5 and not self.is_31 else 4
        if level != (3 if self.is_31 else self.version):
            raise MqttError(
                reason_codes.UNSUPPORTED_VERSION,
                f"protocol version {level} is not served; 3, 4 and 5 are",
            )

    @staticmethod
    def _check_publish(data: bytes, first: int, body: int, end: int) -> None:
        """The common case, an ASCII topic and no properties, is settled in a few steps."""
        if body + 3 <= end and first & 0x0E in {0x00, 0x02, 0x04, 0x0A, 0x0C}:
            topic = body + 2
            after = topic + (data[body] << 8 | data[body + 1])
            name = data[topic:after]
            after += 2 if first & 0x06 else 0
            if name and after < end and data[after] == 0 and name.isascii() and b"\0" not in name:
                return
        packet_fields.check_publish(data, body, end, first)


def read(data: bytes, start: int, end: int) -> mqtt5.Packet:
    """One packet through the codec, whose every complaint is a malformed packet."""
    try:
        packet, _ = mqtt5.read(memoryview(data)[start:end])
    except ValueError as error:
        raise malformed(str(error)) from error
    except IndexError as error:
        raise malformed("the packet is shorter than its fields") from error
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise malformed("the packet cannot be read") from error
    return packet

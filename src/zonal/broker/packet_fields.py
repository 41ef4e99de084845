"""A strict walk over the fields of MQTT packets, for what the codec lets through.

The `mqtt5` codec checks lengths, property types and most values, but it panics on text that is not
UTF-8 and takes U+0000, reserved bits and flags that contradict one another. These checks come
first, so that the codec sees only packets it can read.
"""

from __future__ import annotations

from zonal.broker.reason_codes import TOPIC_ALIAS_INVALID, malformed, protocol_error
from zonal.errors import MqttError

USER_PROPERTY, SUBSCRIPTION_IDENTIFIER = 0x26, 0x0B
REQUEST_PROBLEM_INFORMATION, REQUEST_RESPONSE_INFORMATION = 0x17, 0x19
RECEIVE_MAXIMUM, TOPIC_ALIAS, MAXIMUM_PACKET_SIZE = 0x21, 0x23, 0x27
TEXT = frozenset({0x03, 0x08, 0x12, 0x15, 0x1A, 0x1C, 0x1F})
BINARY = frozenset({0x09, 0x16})
SIZES = (
    dict.fromkeys((0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A), 1)
    | dict.fromkeys((0x13, 0x21, 0x22, 0x23), 2)
    | dict.fromkeys((0x02, 0x11, 0x18, 0x27), 4)
)
"""Bytes of the properties that are numbers of a fixed size (MQTT 5, 2.2.2.2)."""


class Fields:
    """Reads one field after the other from a packet's body; any error is a malformed packet."""

    __slots__ = ("_data", "end", "position")

    def __init__(self, data: bytes, position: int, end: int) -> None:
        self._data = data
        self.position = position
        self.end = end

    def _take(self, size: int) -> int:
        start = self.position
        if start + size > self.end:
            raise malformed("the packet is shorter than its fields")
        self.position = start + size
        return start

    def byte(self) -> int:
        """One byte."""
        return self._data[self._take(1)]

    def two(self) -> int:
        """A two-byte integer."""
        start = self._take(2)
        return int.from_bytes(self._data[start : start + 2], "big")

    def variable(self) -> int:
        """A variable byte integer."""
        value = shift = 0
        while shift < 28:
            part = self.byte()
            value |= (part & 0x7F) << shift
            if part < 0x80:
                return value
            shift += 7
        raise malformed("a variable byte integer is longer than four bytes")

    def binary(self) -> bytes:
        """Binary data with a length."""
        size = self.two()
        start = self._take(size)
        return self._data[start : start + size]

    def text(self) -> str:
        """A UTF-8 string without U+0000 or surrogates (MQTT 5, 1.5.4)."""
        raw = self.binary()
        try:
            value = raw.decode()
        except UnicodeDecodeError as error:
            raise malformed("a string is not UTF-8") from error
        if "\0" in value:
            raise malformed("a string contains U+0000")
        return value

    def rest(self) -> bytes:
        """Everything that is left."""
        start, self.position = self.position, self.end
        return self._data[start : self.end]

    def properties(self) -> dict[int, int]:
        """A property list: every string in it is checked; numbers are returned, by property."""
        size = self.variable()
        end = self.position + size
        if end > self.end:
            raise malformed("the property length reaches beyond the packet")
        whole, self.end = self.end, end
        found: dict[int, int] = {}
        while self.position < end:
            kind = self.variable()
            if kind == USER_PROPERTY:
                self.text()
                self.text()
            elif kind in found:
                raise protocol_error(f"property 0x{kind:02x} is given twice")
            else:
                found[kind] = self._value(kind)
        self.end = whole
        return found

    def _value(self, kind: int) -> int:
        """A property's number; 0 for text and binary data, which are only checked."""
        if kind in TEXT:
            self.text()
            return 0
        if kind in BINARY:
            self.binary()
            return 0
        if kind == SUBSCRIPTION_IDENTIFIER:
            return self.variable()
        if kind not in SIZES:
            raise malformed(f"there is no property 0x{kind:02x}")
        start = self._take(SIZES[kind])
        return int.from_bytes(self._data[start : self.position], "big")


def check_connect(data: bytes, start: int, end: int) -> None:
    """The body of an MQTT 5 CONNECT: flags, properties and strings."""
    fields = Fields(data, start, end)
    fields.text()
    fields.byte()
    flags = fields.byte()
    check_connect_flags(flags)
    fields.two()
    properties = fields.properties()
    if not properties.get(RECEIVE_MAXIMUM, 1) or not properties.get(MAXIMUM_PACKET_SIZE, 1):
        raise protocol_error("receive maximum and maximum packet size must not be 0")
    for flag in (REQUEST_PROBLEM_INFORMATION, REQUEST_RESPONSE_INFORMATION):
        if properties.get(flag, 0) > 1:
            raise protocol_error(f"property 0x{flag:02x} must be 0 or 1")
    fields.text()
    if flags & 0x04:
        fields.properties()
        fields.text()
        fields.binary()
    if flags & 0x80:
        fields.text()
    if flags & 0x40:
        fields.binary()
    if fields.position != end:
        raise malformed("CONNECT is longer than its fields")


def check_connect_flags(flags: int) -> None:
    """The connect flags, which versions 3.1.1 and 5 share (3.1.2.3)."""
    if flags & 0x01:
        raise malformed("the reserved connect flag must be 0")
    if not flags & 0x04 and flags & 0x38:
        raise malformed("will QoS and will retain must be 0 without a will")
    if flags & 0x18 == 0x18:
        raise malformed("the will QoS must be 0, 1 or 2")


def check_publish(data: bytes, start: int, end: int, first: int) -> None:
    """The variable header of a PUBLISH: the payload may be anything."""
    if first & 0x06 == 0 and first & 0x08:
        raise malformed("DUP must be 0 for QoS 0")
    fields = Fields(data, start, end)
    topic = fields.text()
    if first & 0x06:
        fields.two()
    properties = fields.properties()
    if properties.get(TOPIC_ALIAS) == 0:
        raise MqttError(TOPIC_ALIAS_INVALID, "topic alias 0")
    if not topic and TOPIC_ALIAS not in properties:
        raise protocol_error("neither a topic nor a topic alias")
    _check_identifier(properties)


def _check_identifier(properties: dict[int, int]) -> None:
    if properties.get(SUBSCRIPTION_IDENTIFIER) == 0:
        raise protocol_error("subscription identifier 0")


def check_subscribe(data: bytes, start: int, end: int) -> None:
    """The body of a SUBSCRIBE, with its reserved option bits (3.8.3.1)."""
    if _is_usual_subscribe(data, start + 2, end):
        return
    fields = Fields(data, start, end)
    fields.two()
    _check_identifier(fields.properties())
    while fields.position < end:
        fields.text()
        if fields.byte() & 0xC0:
            raise malformed("the reserved subscription option bits must be 0")


def _is_usual_subscribe(data: bytes, at: int, end: int) -> bool:
    """Whether there are user properties and filters alone, of ASCII characters: a quick look."""
    try:
        size, at = data[at], at + 1
        if size >= 0x80:
            size, at = size & 0x7F | data[at] << 7, at + 1
        filters = at + size
        while at < filters:
            name = at + 3
            value = name + (data[at + 1] << 8 | data[at + 2]) + 2
            after = value + (data[value - 2] << 8 | data[value - 1])
            texts = data[name : value - 2] + data[value:after]
            if data[at] != USER_PROPERTY or not _is_plain(texts):
                return False
            at = after
        if at != filters or size >= 0x4000:  # of such a size that was not all of it
            return False
        while at < end:
            after = at + 2 + (data[at] << 8 | data[at + 1])
            if data[after] & 0xC0 or not _is_plain(data[at + 2 : after]):
                return False
            at = after + 1
    except IndexError:
        return False
    return at == end


def _is_plain(text: bytes) -> bool:
    return text.isascii() and b"\0" not in text


def check_unsubscribe(data: bytes, start: int, end: int) -> None:
    """The body of an UNSUBSCRIBE."""
    fields = Fields(data, start, end)
    fields.two()
    fields.properties()
    while fields.position < end:
        fields.text()


def check_acknowledgement(data: bytes, start: int, end: int) -> None:
    """The body of PUBACK, PUBREC, PUBREL and PUBCOMP: packet identifier, code, properties."""
    if end - start > 3:
        Fields(data, start + 3, end).properties()


def check_disconnect(data: bytes, start: int, end: int) -> None:
    """The body of a DISCONNECT or an AUTH: code, properties."""
    if end - start > 1:
        Fields(data, start + 1, end).properties()

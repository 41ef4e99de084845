"""A strict walk over the fields of MQTT packets, for what the codec lets through.

The `mqtt5` codec checks lengths, property types and most values, but it panics on text that is not
UTF-8 and takes U+0000, reserved bits and flags that contradict one another. These checks come
first, so that the codec sees only packets it can read.
"""

from __future__ import annotations

from zonal.broker.reason_codes import malformed

BYTE = frozenset({0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A})
TWO = frozenset({0x13, 0x21, 0x22, 0x23})
FOUR = frozenset({0x02, 0x11, 0x18, 0x27})
VARIABLE = frozenset({0x0B})
TEXT = frozenset({0x03, 0x08, 0x12, 0x15, 0x1A, 0x1C, 0x1F})
BINARY = frozenset({0x09, 0x16})
USER_PROPERTY = 0x26


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

    def properties(self) -> None:
        """A property list: every string in it is checked."""
        size = self.variable()
        end = self.position + size
        if end > self.end:
            raise malformed("the property length reaches beyond the packet")
        inner = Fields(self._data, self.position, end)
        while inner.position < end:
            inner._property()
        self.position = end

    def _property(self) -> None:
        kind = self.variable()
        if kind == USER_PROPERTY:
            self.text()
            self.text()
        elif kind in TEXT:
            self.text()
        elif kind in BINARY:
            self.binary()
        elif kind in VARIABLE:
            self.variable()
        elif kind in BYTE:
            self.byte()
        elif kind in TWO or kind in FOUR:
            self._take(2 if kind in TWO else 4)
        else:
            raise malformed(f"there is no property 0x{kind:02x}")


def check_connect(data: bytes, start: int, end: int) -> None:
    """The body of an MQTT 5 CONNECT: flags that agree, strings that are strings."""
    fields = Fields(data, start, end)
    fields.text()
    fields.byte()
    flags = fields.byte()
    check_connect_flags(flags)
    fields.two()
    fields.properties()
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
    """The variable header of a PUBLISH: the payload is nobody's business."""
    if first & 0x06 == 0 and first & 0x08:
        raise malformed("DUP must be 0 for QoS 0")
    fields = Fields(data, start, end)
    fields.text()
    if first & 0x06:
        fields.two()
    fields.properties()


def check_subscribe(data: bytes, start: int, end: int) -> None:
    """The body of a SUBSCRIBE, with its reserved option bits (3.8.3.1)."""
    fields = Fields(data, start, end)
    fields.two()
    fields.properties()
    while fields.position < end:
        fields.text()
        if fields.byte() & 0xC0:
            raise malformed("the reserved subscription option bits must be 0")


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
    """The body of a DISCONNECT: code, properties."""
    if end - start > 1:
        Fields(data, start + 1, end).properties()

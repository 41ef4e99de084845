"""Packets as bytes: compact, versioned, bounded; whatever does not parse exactly is refused.

```
octet 0      version (high four bits), kind (low four bits)
…            body: unsigned varints (LEB128, at most 5 octets), counted lists, one blob at the end
last four    CRC-32 of all before, little-endian
```

`WIRE` knows the packets of PSVR. A routing layer with packets of its own brings a `Codec` of its
own (`WIRE.extended`).
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from zonal.errors import PacketError
from zonal.mesh.packets import Ack, Beacon, LinkReport, Packet, Pub, Sub, View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

VERSION = 3
MAX_PACKET = 1400
MAX_LIST = 255
MAX_NUMBER = 2**32 - 1
MAX_DATA = 1024


def octets_of(value: int) -> int:
    """How many octets a number takes in a packet."""
    return max((value.bit_length() + 6) // 7, 1)


class FieldWriter:
    """Appends varints, lists and blobs."""

    __slots__ = ("out",)

    def __init__(self, kind: int) -> None:
        self.out = bytearray((VERSION << 4 | kind,))

    def number(self, value: int) -> None:
        """A number from 0 to `MAX_NUMBER`."""
        if not 0 <= value <= MAX_NUMBER:
            raise PacketError(f"{value} does not fit a packet: numbers go from 0 to {MAX_NUMBER}")
        while value > 0x7F:
            self.out.append(value & 0x7F | 0x80)
            value >>= 7
        self.out.append(value)

    def numbers(self, values: tuple[int, ...]) -> None:
        """At most `MAX_LIST` numbers."""
        if len(values) > MAX_LIST:
            raise PacketError(f"a list of {len(values)} exceeds the {MAX_LIST} of a packet")
        self.out.append(len(values))
        for value in values:
            self.number(value)

    def blob(self, data: bytes) -> None:
        """At most `MAX_DATA` octets."""
        if len(data) > MAX_DATA:
            raise PacketError(f"{len(data)} octets of data exceed the {MAX_DATA} of a packet")
        self.number(len(data))
        self.out += data


class FieldReader:
    """Reads what `FieldWriter` wrote, and raises `PacketError` at the first thing that is off."""

    __slots__ = ("at", "data", "stop")

    def __init__(self, data: bytes, stop: int) -> None:
        self.data = data
        self.at = 1
        self.stop = stop

    def octet(self) -> int:
        """The next octet."""
        if self.at >= self.stop:
            raise PacketError("packet ends too early")
        value = self.data[self.at]
        self.at += 1
        return value

    def number(self) -> int:
        """The next number."""
        value = 0
        for shift in range(0, 35, 7):
            octet = self.octet()
            value |= (octet & 0x7F) << shift
            if octet < 0x80:
                if value > MAX_NUMBER or (octet == 0 and shift):
                    raise PacketError("number is too large or not in its shortest form")
                return value
        raise PacketError("number runs over five octets")

    def numbers(self) -> tuple[int, ...]:
        """The next list."""
        return tuple([self.number() for _ in range(self.octet())])

    def blob(self) -> bytes:
        """The next octets."""
        size = self.number()
        end = self.at + size
        if size > MAX_DATA or end > self.stop:
            raise PacketError(f"blob of {size} octets does not fit")
        data = self.data[self.at : end]
        self.at = end
        return data


def _write_beacon(packet: Beacon, to: FieldWriter) -> None:
    view = packet.view
    to.number(packet.seq)
    to.number(packet.pace)
    for value in view[:6]:
        to.number(value)
    to.numbers(view.positions)
    to.numbers(view.children)
    to.numbers(tuple(link.node for link in view.links))
    to.out += bytes(link.quality << 1 | link.kept for link in view.links)


def _read_beacon(sender: int, src: FieldReader) -> Beacon:
    seq, pace, root, depth, parent, cost, size, length = (src.number() for _ in range(8))
    positions, children, nodes = src.numbers(), src.numbers(), src.numbers()
    links = []
    for node in nodes:
        octet = src.octet()
        links.append(LinkReport(node, octet >> 1, bool(octet & 1)))
    view = View(root, depth, parent, cost, size, length, positions, children, tuple(links))
    return Beacon(sender, seq, view, pace)


def _write_sub(packet: Sub, to: FieldWriter) -> None:
    to.number(0 if packet.previous is None else packet.previous + 1)
    to.numbers(packet.channels)
    to.numbers(packet.positions)


def _read_sub(sender: int, src: FieldReader) -> Sub:
    previous = src.number()
    return Sub(sender, previous - 1 if previous else None, src.numbers(), src.numbers())


def _write_pub(packet: Pub, to: FieldWriter) -> None:
    for value in packet[1:5]:
        to.number(value)
    to.numbers(packet.channels)
    to.number(packet.origin)
    to.number(packet.serial)
    to.blob(packet.data)


def _read_pub(sender: int, src: FieldReader) -> Pub:
    hop, goal, end, ttl = (src.number() for _ in range(4))
    return Pub(sender, hop, goal, end, ttl, src.numbers(), src.number(), src.number(), src.blob())


def _write_ack(packet: Ack, to: FieldWriter) -> None:
    to.number(packet.hop)


class PacketKind(NamedTuple):
    """How the packets of one type are written and read; the sender is written for all alike."""

    packet: type
    write: Callable[[Any, FieldWriter], None]
    read: Callable[[int, FieldReader], Packet]


class Codec:
    """Packets of some kinds as bytes and back; kinds have numbers from 0 to 15."""

    def __init__(self, kinds: Mapping[int, PacketKind]) -> None:
        self._kinds = dict(kinds)
        self._numbers = {kind.packet: number for number, kind in kinds.items()}

    def extended(self, number: int, kind: PacketKind) -> Codec:
        """A codec that knows one more kind."""
        return Codec({**self._kinds, number: kind})

    def encode(self, packet: Packet) -> bytes:
        """The packet as bytes; `PacketError` where a field is out of bounds."""
        number = self._numbers[type(packet)]
        to = FieldWriter(number)
        to.number(packet.sender)
        self._kinds[number].write(packet, to)
        to.out += zlib.crc32(to.out).to_bytes(4, "little")
        if len(to.out) > MAX_PACKET:
            raise PacketError(f"packet of {len(to.out)} octets exceeds {MAX_PACKET}")
        return bytes(to.out)

    def decode(self, data: bytes) -> Packet:
        """The packet in these bytes; `PacketError` says what is wrong with them."""
        stop = len(data) - 4
        if not 1 < stop <= MAX_PACKET - 4:
            raise PacketError(f"{len(data)} octets are no packet: 6 to {MAX_PACKET} are")
        if data[0] >> 4 != VERSION:
            raise PacketError(f"version {data[0] >> 4} is not {VERSION}")
        if zlib.crc32(data[:stop]) != int.from_bytes(data[stop:], "little"):
            raise PacketError("checksum does not match")
        kind = self._kinds.get(data[0] & 0xF)
        if kind is None:
            raise PacketError(f"unknown kind {data[0] & 0xF}")
        src = FieldReader(data, stop)
        packet = kind.read(src.number(), src)
        if src.at != stop:
            raise PacketError(f"{stop - src.at} octets too many")
        return packet


def check_channels(channels: Sequence[int]) -> tuple[int, ...]:
    """The channels, if each is a number that a packet can carry; else `PacketError`."""
    for channel in channels:
        if not 0 <= channel <= MAX_NUMBER:
            raise PacketError(f"channel {channel} is not from 0 to {MAX_NUMBER}")
    return tuple(channels)


def check_publication(channels: Sequence[int], data: bytes) -> None:
    """`PacketError` unless a PUB with these channels and data fits a packet, on whatever hop."""
    most = MAX_NUMBER
    WIRE.encode(Pub(most, most, most, most, most, tuple(channels), most, most, data))


def sub_packets(channels: Iterable[int], positions: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Channels in as many portions as SUBs are needed for them, each with all the positions.

    Whoever passes such a SUB on has room for its own identifiers, however large.
    """
    fixed = 1 + 2 * octets_of(MAX_NUMBER) + 2 + 4  # kind, sender and previous, two counts, checksum
    room = MAX_PACKET - fixed - sum(map(octets_of, positions))
    portions: list[tuple[int, ...]] = []
    portion: list[int] = []
    left = room
    for channel in sorted(channels):
        size = octets_of(channel)
        if portion and (size > left or len(portion) == MAX_LIST):
            portions.append(tuple(portion))
            portion, left = [], room
        portion.append(channel)
        left -= size
    return [*portions, tuple(portion)] if portion else portions


WIRE = Codec(
    {
        1: PacketKind(Beacon, _write_beacon, _read_beacon),
        2: PacketKind(Sub, _write_sub, _read_sub),
        3: PacketKind(Pub, _write_pub, _read_pub),
        4: PacketKind(Ack, _write_ack, lambda sender, src: Ack(sender, src.number())),
    }
)
"""What nodes speak by default."""

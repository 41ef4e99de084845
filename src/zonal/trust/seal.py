"""Sealed payloads: what only those who have the zone's key of that epoch can read.

```
bytes 0–3  0x00 "ZS" 0x01
byte 4, n  length of the zone's name, and the name
4          epoch
12         nonce
rest       AES-256-GCM of: length of the content encoding (1), the content encoding, the payload;
           its last 16 bytes are the tag
```

All numbers are big-endian. Associated data are the bytes before the nonce, the topic, the place
and the fence of the message: under another topic or with another fence it does not open. Zenoh's
content encoding of a sealed message is `application/x-zonal-sealed`.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from zonal.errors import SealError
from zonal.geo import Area, Point, area_from_bytes
from zonal.trust.shared_secret import open_bytes, seal_bytes
from zonal.trust.zone_keys import EpochKey, check_zone

if TYPE_CHECKING:
    from collections.abc import Callable

SEALED_ENCODING = "application/x-zonal-sealed"
_MAGIC = b"\0ZS\1"
_EPOCH = struct.Struct(">I")
_PLACE = struct.Struct(">dd")


class SealedHead(NamedTuple):
    """Which key opens a sealed payload, and how many bytes say so."""

    zone: str
    epoch: int
    size: int


def seal_payload(key: EpochKey, payload: bytes, encoding: str, topic: str, places: bytes) -> bytes:
    """A payload for those who have the key; `places` as `written_places` writes them."""
    name, content = check_zone(key.zone).encode(), encoding.encode()
    if len(content) > 255:
        raise SealError(f"a content encoding has at most 255 bytes, not {len(content)}")
    head = _MAGIC + bytes((len(name),)) + name + _EPOCH.pack(key.epoch)
    plain = bytes((len(content),)) + content + payload
    return head + seal_bytes(key.key, plain, _associated(head, topic, places))


def sealed_head(data: bytes) -> SealedHead | None:
    """What is readable of a sealed payload; None where it is none."""
    if not data.startswith(_MAGIC) or len(data) < len(_MAGIC) + 1:
        return None
    start = len(_MAGIC) + 1
    end = start + data[start - 1]
    try:
        zone = check_zone(data[start:end].decode())
        (epoch,) = _EPOCH.unpack_from(data, end)
    except (ValueError, RuntimeError, struct.error):
        return None
    return SealedHead(zone, epoch, end + _EPOCH.size)


def open_payload(
    data: bytes,
    topic: str,
    places: bytes,
    key_of: Callable[[str, int], bytes | None],
) -> tuple[bytes, str]:
    """The payload and its content encoding; `SealError` where no key is at hand or it is not its.

    `key_of` gives the key of a zone's epoch.
    """
    head = sealed_head(data)
    if head is None:
        raise SealError("this payload is not sealed")
    key = key_of(head.zone, head.epoch)
    if key is None:
        raise SealError(f"there is no key of zone {head.zone!r} for epoch {head.epoch}")
    begin = data[: head.size]
    plain = open_bytes(key, data[head.size :], _associated(begin, topic, places))
    end = 1 + plain[0] if plain else 0
    if not plain or end > len(plain):
        raise SealError("what was sealed has no content encoding")
    return plain[end:], plain[1:end].decode(errors="replace")


def written_places(location: Point | None, fence: Area | None) -> bytes:
    """Where a message is from and whom it is for, the same at both ends of its way."""
    place = b"-" if location is None else b"+" + _PLACE.pack(location.lat, location.lon)
    return place if fence is None else place + _settled(fence.to_bytes())


def read_places(data: bytes) -> tuple[Point | None, Area | None]:
    """What `written_places` wrote."""
    location, rest = None, data[1:]
    if data[:1] == b"+":
        location, rest = Point(*_PLACE.unpack_from(rest)), rest[_PLACE.size :]
    return location, area_from_bytes(rest) if rest else None


def _associated(head: bytes, topic: str, places: bytes) -> bytes:
    name = topic.encode()
    return head + _EPOCH.pack(len(name)) + name + places


@lru_cache(maxsize=1024)
def _settled(shape: bytes) -> bytes:
    """A shape as it is written by who has read it: unions may be written in another order."""
    return area_from_bytes(shape).to_bytes()

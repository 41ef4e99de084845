"""What travels as the data of a publication: topic, place, fence and the user's payload.

```
octet 0   version (1)
octet 1   flags: 1 location, 2 geofence, 4 came through a gateway
octet 2   length of the topic, then the topic in UTF-8
then      latitude and longitude, two little-endian doubles
then      length of the fence (unsigned 16), then the shape as in Zonal's attachments
then      the payload, to the end
```
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from zonal.errors import AttachmentError, GeometryError, PacketError
from zonal.geo import Point, area_from_bytes

if TYPE_CHECKING:
    from zonal.geo import Area

VERSION = 1
_LOCATION, _FENCE, _GATEWAY = 1, 2, 4
_POINT = struct.Struct("<dd")
_LENGTH = struct.Struct("<H")


class MeshEnvelope(NamedTuple):
    """One located message in a mesh."""

    topic: str
    payload: bytes
    location: Point | None = None
    geofence: Area | None = None
    from_gateway: bool = False

    def to_bytes(self) -> bytes:
        """For the wire, in one packet or in several."""
        name = self.topic.encode()
        flags, body = _GATEWAY if self.from_gateway else 0, b""
        if self.location is not None:
            flags, body = flags | _LOCATION, _POINT.pack(self.location.lat, self.location.lon)
        if self.geofence is not None:
            shape = self.geofence.to_bytes()
            flags, body = flags | _FENCE, body + _LENGTH.pack(min(len(shape), 0xFFFF)) + shape
        return bytes((VERSION, flags, len(name))) + name + body + self.payload

    @classmethod
    def from_bytes(cls, data: bytes) -> MeshEnvelope:
        """Read what `to_bytes` wrote; `PacketError` for anything else."""
        try:
            version, flags, size = data[0], data[1], data[2]
            if version != VERSION or flags > 7:
                raise PacketError(f"version {version} with flags {flags} is not known")
            at = 3 + size
            topic, location, fence = data[3:at].decode(), None, None
            if flags & _LOCATION:
                location, at = Point(*_POINT.unpack_from(data, at)), at + _POINT.size
            if flags & _FENCE:
                (length,) = _LENGTH.unpack_from(data, at)
                at += _LENGTH.size
                fence, at = area_from_bytes(data[at : at + length]), at + length
        except (IndexError, UnicodeDecodeError, struct.error) as error:
            raise PacketError(f"no message in these {len(data)} octets: {error}") from error
        except (GeometryError, AttachmentError) as error:
            raise PacketError(f"message with an impossible place: {error}") from error
        if at > len(data):
            raise PacketError("message ends too early")
        return cls(topic, data[at:], location, fence, bool(flags & _GATEWAY))

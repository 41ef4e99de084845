"""A client's last will, as CONNECT gave it (MQTT 5, 3.1.2.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.broker.geocontext import Context, with_location
from zonal.broker.message import Message

if TYPE_CHECKING:
    import mqtt5

    from zonal.geo import Point


class Will(NamedTuple):
    """What to publish when a connection ends without a DISCONNECT, or with one that says so."""

    packet: mqtt5.Will
    context: Context

    @property
    def delay(self) -> int:
        """Seconds to wait for the client to come back."""
        return self.packet.will_delay_interval

    @property
    def topic(self) -> str:
        """Where it is published."""
        return self.packet.topic

    def message(self, client_id: str, location: Point | None, now: float) -> Message:
        """The message of a client that was last at `location`; its lifetime begins now."""
        will = self.packet
        message = Message.from_packet(will, will.topic, will.payload or b"", now)
        message.source = client_id
        message.location = self.context.location or location
        message.geofence = self.context.geofence
        message.user_properties = with_location(
            will.user_properties, self.context, message.location
        )
        return message

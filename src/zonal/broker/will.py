"""A client's last will, as CONNECT gave it (MQTT 5, 3.1.2.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.broker.geocontext import Context, with_location
from zonal.broker.message import Message

if TYPE_CHECKING:
    import mqtt5

    from zonal.broker.session import Session


class Will(NamedTuple):
    """What to publish when the client is gone without a word."""

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

    def message(self, session: Session, now: float) -> Message:
        """The message, from where the client was last; its lifetime begins now."""
        will = self.packet
        lifetime = will.message_expiry_interval
        location = self.context.location or session.location
        return Message(
            will.topic,
            will.payload or b"",
            qos=int(will.qos),
            retain=will.retain,
            payload_format=will.payload_format_indicator,
            expires_at=None if lifetime is None else now + lifetime,
            content_type=will.content_type,
            response_topic=will.response_topic,
            correlation_data=will.correlation_data,
            user_properties=with_location(will.user_properties, self.context, location),
            source=session.client_id,
            location=location,
            geofence=self.context.geofence,
        )

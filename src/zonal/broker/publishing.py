"""PUBLISH and PUBREL: a client's messages, checked, acknowledged and handed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mqtt5

from zonal.broker import geocontext, reason_codes
from zonal.broker.message import Message
from zonal.broker.topics import OWN_PREFIXES, valid_topic
from zonal.broker.zenoh_encoding import is_text
from zonal.errors import GeometryError, MqttError

if TYPE_CHECKING:
    from zonal.broker.connection import Connection
    from zonal.broker.core import Broker
    from zonal.broker.session import ClientSession


class Refused(Exception):  # noqa: N818 - nothing failed: a publication was not accepted
    """A publication that is acknowledged with an error and goes nowhere."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def on_publish(
    broker: Broker, connection: Connection, packet: mqtt5.PublishPacket, now: float
) -> None:
    """A client publishes."""
    session = connection.session
    assert session is not None
    qos = int(packet.qos)
    topic = _topic(broker, connection, packet)
    _check(broker, packet, qos)
    broker.counters.received += 1
    if qos == 2 and _seen_before(broker, connection, session, packet):
        return
    code, reason = 0, None
    try:
        code = _accept(broker, connection, session, packet, topic, now)
    except Refused as refused:
        broker.counters.refused += 1
        code, reason = refused.code, str(refused)
    if qos == 1:
        connection.acknowledge(mqtt5.PubAckPacket, packet.packet_id or 0, code, reason)
    elif qos == 2:
        _receive(broker, connection, session, packet.packet_id or 0, code, reason)


def _topic(broker: Broker, connection: Connection, packet: mqtt5.PublishPacket) -> str:
    """The topic name, perhaps by its alias (3.3.2.3.4)."""
    topic, alias = packet.topic, packet.topic_alias
    limits = broker.settings.limits
    if alias is not None:
        if alias > limits.topic_alias_maximum:
            raise MqttError(
                reason_codes.TOPIC_ALIAS_INVALID,
                f"topic alias {alias} exceeds the maximum of {limits.topic_alias_maximum}",
            )
        if not topic:
            known = connection.aliases_in.get(alias)
            if known is None:
                raise MqttError(reason_codes.PROTOCOL_ERROR, f"topic alias {alias} was never set")
            return known
    if not valid_topic(topic, limits.maximum_levels):
        raise MqttError(reason_codes.TOPIC_INVALID, f"{topic[:80]!r} is no topic to publish to")
    if alias is not None:
        connection.aliases_in[alias] = topic
    return topic


def _check(broker: Broker, packet: mqtt5.PublishPacket, qos: int) -> None:
    """What a PUBLISH from a client must not say."""
    if qos and packet.packet_id == 0:
        raise MqttError(reason_codes.PROTOCOL_ERROR, "packet identifier 0")
    if packet.subscription_ids:
        raise MqttError(
            reason_codes.PROTOCOL_ERROR, "subscription identifiers are the server's to set"
        )
    if packet.payload_format_indicator > 1:
        raise MqttError(reason_codes.MALFORMED, "the payload format indicator must be 0 or 1")
    response = packet.response_topic
    if response is not None and not valid_topic(response, broker.settings.limits.maximum_levels):
        raise MqttError(
            reason_codes.PROTOCOL_ERROR, "a response topic is a topic without wildcards"
        )


def _seen_before(broker: Broker, connection: Connection, session: ClientSession,
                 packet: mqtt5.PublishPacket) -> bool:  # fmt: skip
    """Whether this QoS 2 message was already acted upon: then it is only acknowledged again."""
    code = session.incoming.get(packet.packet_id or 0)
    if code is not None:
        connection.acknowledge(mqtt5.PubRecPacket, packet.packet_id or 0, code)
        return True
    if len(session.incoming) >= broker.settings.limits.receive_maximum:
        raise MqttError(
            reason_codes.RECEIVE_MAXIMUM_EXCEEDED,
            f"more than {broker.settings.limits.receive_maximum} QoS 2 messages under way",
        )
    return False


def _accept(
    broker: Broker, connection: Connection, session: ClientSession,
    packet: mqtt5.PublishPacket, topic: str, now: float,
) -> int:  # fmt: skip
    """Publishes the message; the code to acknowledge it with."""
    user = connection.user
    if user is not None and not user.unlimited:
        # Where a client is, is its own affair: no rule is needed for that.
        own = topic == geocontext.LOCATION_TOPIC
        if not own and not user.may_publish(topic, session.client_id):
            raise Refused(reason_codes.NOT_AUTHORIZED, f"not allowed to publish to {topic[:80]!r}")
    context = geocontext.NOWHERE
    properties = packet.user_properties
    if properties and broker.settings.geo:
        context = _context(broker, properties)
    if topic[0] == "$" and topic.startswith(OWN_PREFIXES):
        _special(broker, session, packet, topic, context)
        return 0
    if packet.payload_format_indicator:
        _check_text(packet.payload)
    if packet.retain:
        _check_room(broker, topic, packet.payload)
    message = Message.from_packet(packet, topic, packet.payload, now)
    message.source = session.client_id
    location = context.location or session.location
    if location is not None:
        message.location = location
        message.user_properties = geocontext.with_location(properties, context, location)
    message.geofence = context.geofence
    receivers = broker.publish(message, now)
    if receivers or broker.on_publish is not None or connection.version == 4:
        return 0
    return reason_codes.NO_MATCHING_SUBSCRIBERS


def _context(broker: Broker, properties: list[tuple[str, str]]) -> geocontext.Context:
    try:
        context = geocontext.read(properties, broker.settings.limits.maximum_vertices)
    except GeometryError as error:
        raise Refused(reason_codes.IMPLEMENTATION_SPECIFIC, str(error)) from error
    if geocontext.follows(context.geofence):
        raise Refused(
            reason_codes.IMPLEMENTATION_SPECIFIC, "user property around: belongs to SUBSCRIBE"
        )
    return context


def _special(broker: Broker, session: ClientSession, packet: mqtt5.PublishPacket, topic: str,
             context: geocontext.Context) -> None:  # fmt: skip
    """`$zonal/location` moves the client; the broker's other topics are its own."""
    if topic != geocontext.LOCATION_TOPIC or not broker.settings.geo:
        raise Refused(reason_codes.NOT_AUTHORIZED, f"{topic[:80]!r} is the broker's own")
    location = context.location
    if location is None:
        try:
            location = geocontext.read_location(packet.payload.decode())
        except (GeometryError, UnicodeDecodeError) as error:
            raise Refused(reason_codes.IMPLEMENTATION_SPECIFIC, str(error)) from error
    broker.move(session, location)


def _check_text(payload: bytes) -> None:
    if not is_text(payload):
        raise Refused(reason_codes.PAYLOAD_FORMAT_INVALID, "the payload is not UTF-8")


def _check_room(broker: Broker, topic: str, payload: bytes) -> None:
    """Retained messages are bounded; replacing and clearing always works."""
    full = len(broker.retained) >= broker.settings.limits.maximum_retained
    if full and payload and broker.retained.get(topic) is None:
        raise Refused(reason_codes.QUOTA_EXCEEDED, "too many retained messages")


def _receive(
    broker: Broker, connection: Connection, session: ClientSession, packet_id: int, code: int,
    reason: str | None,
) -> None:  # fmt: skip
    """Remembers a QoS 2 message that was acted upon, and says so."""
    if code < reason_codes.FAILURE:
        session.incoming[packet_id] = code
        if session.durable:
            broker.journal.received(session.client_id, packet_id, code)
    connection.acknowledge(mqtt5.PubRecPacket, packet_id, code, reason)


def on_pubrel(broker: Broker, connection: Connection, packet: mqtt5.PubRelPacket, _: float) -> None:
    """The sender releases a QoS 2 identifier: it may use it again."""
    session = connection.session
    assert session is not None
    packet_id = packet.packet_id
    if packet_id == 0:
        raise MqttError(reason_codes.PROTOCOL_ERROR, "packet identifier 0")
    known = session.incoming.pop(packet_id, None) is not None
    if known and session.durable:
        broker.journal.released(session.client_id, packet_id)
    connection.acknowledge(
        mqtt5.PubCompPacket, packet_id, 0 if known else reason_codes.PACKET_ID_NOT_FOUND
    )

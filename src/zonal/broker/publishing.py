"""PUBLISH and PUBREL: a client's messages, checked, acknowledged and handed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mqtt5

from zonal.broker import geocontext, reason_codes
from zonal.broker.message import Message, is_text
from zonal.broker.permission import check_publication
from zonal.broker.reason_codes import Refused, malformed, protocol_error
from zonal.broker.topics import GEO, OWN_PREFIXES, valid_topic
from zonal.broker.watch import follow
from zonal.errors import AttestationError, GeometryError, MqttError

if TYPE_CHECKING:
    from zonal.broker.connection import Connection
    from zonal.broker.session import ClientSession
    from zonal.broker.settings import Limits
    from zonal.broker.state import BrokerState
    from zonal.geo import Point


def on_publish(broker: BrokerState, connection: Connection, session: ClientSession,
               packet: mqtt5.PublishPacket, now: float) -> None:  # fmt: skip
    """A client publishes."""
    limits = connection.entrance.limits
    qos, packet_id = int(packet.qos), packet.packet_id or 0
    topic = _topic(connection, packet, limits)
    if qos and packet_id == 0:
        raise protocol_error("packet identifier 0")
    if packet.subscription_ids:
        raise protocol_error("subscription identifiers are the server's to set")
    check_properties(packet, limits)
    check_offered(qos, packet.retain, limits)
    broker.counters.received += 1
    if qos == 2 and _seen_before(connection, session, packet_id, limits):
        return
    try:
        code, reason = _accept(broker, connection, session, packet, topic, now)
    except Refused as refused:
        broker.counters.refused += 1
        code, reason = refused.code, str(refused)
        broker.diary.denied(session.client_id, "publication", code, reason, now)
    if qos == 1:
        connection.acknowledge(mqtt5.PubAckPacket, packet_id, code, reason)
    elif qos == 2:
        if code < reason_codes.FAILURE:  # acted upon: remembered until it is released
            session.incoming[packet_id] = code
            broker.journal.received(session, packet_id, code)
        connection.acknowledge(mqtt5.PubRecPacket, packet_id, code, reason)


def _topic(connection: Connection, packet: mqtt5.PublishPacket, limits: Limits) -> str:
    """The topic name, perhaps by its alias (3.3.2.3.4)."""
    topic, alias = packet.topic, packet.topic_alias
    if alias is not None:
        if alias > limits.topic_alias_maximum:
            raise MqttError(
                reason_codes.TOPIC_ALIAS_INVALID,
                f"topic alias {alias} exceeds the maximum of {limits.topic_alias_maximum}",
            )
        if not topic:
            known = connection.aliases_in.get(alias)
            if known is None:
                raise protocol_error(f"topic alias {alias} was never set")
            return known
    if not valid_topic(topic, limits.maximum_levels):
        raise MqttError(reason_codes.TOPIC_INVALID, f"{topic[:80]!r} is no topic to publish to")
    if alias is not None:
        connection.aliases_in[alias] = topic
    return topic


def check_properties(packet: mqtt5.PublishPacket | mqtt5.Will, limits: Limits) -> None:
    """What neither a PUBLISH nor a will must say."""
    if packet.payload_format_indicator > 1:
        raise malformed("the payload format indicator must be 0 or 1")
    response = packet.response_topic
    if response is not None and not valid_topic(response, limits.maximum_levels):
        raise protocol_error("a response topic is a topic without wildcards")


def check_offered(qos: int, retain: bool, limits: Limits) -> None:
    """What CONNACK said is not offered here (3.2.2.3.4, 3.2.2.3.5)."""
    if qos > limits.maximum_qos:
        raise MqttError(
            reason_codes.QOS_NOT_SUPPORTED, f"QoS {qos} exceeds the maximum of {limits.maximum_qos}"
        )
    if retain and not limits.retain_available:
        raise MqttError(reason_codes.RETAIN_NOT_SUPPORTED, "messages are not retained here")


def _seen_before(
    connection: Connection, session: ClientSession, packet_id: int, limits: Limits
) -> bool:
    """Whether this QoS 2 message was already acted upon: then it is only acknowledged again."""
    code = session.incoming.get(packet_id)
    if code is not None:
        connection.acknowledge(mqtt5.PubRecPacket, packet_id, code)
        return True
    # Version 3.1.1 has no way to be told the maximum.
    if connection.version == 5 and len(session.incoming) >= limits.receive_maximum:
        raise MqttError(
            reason_codes.RECEIVE_MAXIMUM_EXCEEDED,
            f"more than {limits.receive_maximum} QoS 2 messages under way",
        )
    return False


def _accept(broker: BrokerState, connection: Connection, session: ClientSession,
            packet: mqtt5.PublishPacket, topic: str, now: float) -> tuple[int, str]:  # fmt: skip
    """Publishes the message; the code to acknowledge it with, and what to tell the client."""
    properties = packet.user_properties
    context = _context(broker, properties) if properties else geocontext.NOWHERE
    written = context
    if topic.startswith(GEO) and broker.settings.geo:
        topic, context = _addressed(broker, session, topic, context)
    if topic[0] == "$" and topic.startswith(OWN_PREFIXES):
        _special(broker, session, packet, topic, context, now)
        for subscription in session.subscriptions.values():
            follow(subscription, now)
        return 0, context.hint
    if packet.payload_format_indicator and not is_text(packet.payload):
        raise Refused(reason_codes.PAYLOAD_FORMAT_INVALID, "the payload is not UTF-8")
    message = Message.from_packet(packet, topic, packet.payload, now)
    if packet.retain and not broker.has_room_to_retain(message):
        raise Refused(reason_codes.QUOTA_EXCEEDED, "no room for more retained messages")
    message.source = session.client_id
    message.geofence = context.geofence
    location = _place_of(broker, session, message, context, now)
    if location is not None:
        message.location = location
        message.user_properties = geocontext.with_location(properties, written, location)
    receivers = broker.distributor.publish(message, now)
    if receivers or broker.distributor.on_publish is not None or connection.version == 4:
        return 0, context.hint
    if broker.matching.has_places(message) or broker.has_rules:
        return 0, context.hint  # whether somebody is at a place, or may hear it, is not told
    return reason_codes.NO_MATCHING_SUBSCRIBERS, context.hint


def _place_of(
    broker: BrokerState, session: ClientSession, message: Message, context: geocontext.Context,
    now: float,
) -> Point | None:  # fmt: skip
    """Where a message is from, as finely as others may know it; refused where rules want it so.

    It is the place in the packet, or one that a rule for its topic finds in the payload (the
    client's own may follow it), or else the client's own.
    """
    found = None
    if context.location is None and broker.settings.geo:
        found = broker.settings.locations.find(message.topic, message.payload, broker.counters)
    given = context.location if found is None else found.location
    place = given or session.location
    precision_m = check_publication(session, message.topic, place, message.geofence)
    if found is not None and found.moves_client:
        _move(broker, session, found.location, now)
        given = None  # it is the client's own place now
    told = given or session.told_location
    return told if told is None else geocontext.middle_of(told, precision_m)


def _move(broker: BrokerState, session: ClientSession, location: Point, now: float) -> None:
    refusal = broker.move(session, location, now)
    if refusal:
        raise Refused(reason_codes.NOT_AUTHORIZED, refusal)


def _addressed(
    broker: BrokerState, session: ClientSession, topic: str, context: geocontext.Context
) -> tuple[str, geocontext.Context]:
    """The plain topic behind `$geo/<place>/`, and the context with that place."""
    try:
        address = broker.geotopics.address(topic, context.location or session.location)
    except GeometryError as error:
        raise Refused(reason_codes.TOPIC_INVALID, str(error)) from error
    if (address.location and context.location) or (address.geofence and context.geofence):
        raise Refused(reason_codes.IMPLEMENTATION_SPECIFIC, "a place in topic and properties")
    if not valid_topic(address.topic, broker.settings.limits.maximum_levels):
        raise Refused(reason_codes.TOPIC_INVALID, f"{address.topic[:80]!r} is no topic")
    return address.topic, context._replace(
        location=address.location or context.location,
        geofence=address.geofence or context.geofence,
    )


def _context(broker: BrokerState, properties: list[tuple[str, str]]) -> geocontext.Context:
    try:
        context = broker.context(properties)
    except GeometryError as error:
        raise Refused(reason_codes.IMPLEMENTATION_SPECIFIC, str(error)) from error
    if geocontext.follows(context.geofence):
        raise Refused(
            reason_codes.IMPLEMENTATION_SPECIFIC, "user property around: belongs to SUBSCRIBE"
        )
    return context


def _special(broker: BrokerState, session: ClientSession, packet: mqtt5.PublishPacket, topic: str,
             context: geocontext.Context, now: float) -> None:  # fmt: skip
    """`$zonal/location` moves the client, perhaps attested; other topics are the broker's own."""
    if topic != geocontext.LOCATION_TOPIC or not broker.settings.geo:
        raise Refused(reason_codes.NOT_AUTHORIZED, f"{topic[:80]!r} is the broker's own")
    try:
        broker.present(session, packet.user_properties, now)
    except AttestationError as error:
        raise Refused(reason_codes.NOT_AUTHORIZED, str(error)) from error
    location = context.location
    if location is None and not packet.payload and session.attestation is not None:
        location = session.attestation.cell.center
    if location is None:
        try:
            location = geocontext.read_location(packet.payload.decode())
        except (GeometryError, UnicodeDecodeError) as error:
            raise Refused(reason_codes.IMPLEMENTATION_SPECIFIC, str(error)) from error
    _move(broker, session, location, now)


def on_pubrel(broker: BrokerState, connection: Connection, session: ClientSession,
              packet: mqtt5.PubRelPacket, _: float) -> None:  # fmt: skip
    """The sender releases a QoS 2 identifier: it may use it again."""
    packet_id = packet.packet_id
    if packet_id == 0:
        raise protocol_error("packet identifier 0")
    known = session.incoming.pop(packet_id, None) is not None
    if known:
        broker.journal.released(session, packet_id)
    connection.acknowledge(
        mqtt5.PubCompPacket, packet_id, 0 if known else reason_codes.PACKET_ID_NOT_FOUND
    )

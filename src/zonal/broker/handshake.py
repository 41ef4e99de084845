"""CONNECT: checked, with its credentials, and answered by a session (MQTT 5, 3.1 and 3.2)."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import mqtt5

from zonal.broker import authentication, geocontext, reason_codes, scram, version_311
from zonal.broker.changed_rules import hold_to_rules
from zonal.broker.connection import UNLIMITED, Connection, Stage
from zonal.broker.publishing import check_offered, check_properties
from zonal.broker.reason_codes import protocol_error
from zonal.broker.state import BrokerState, Claim
from zonal.broker.topics import OWN_PREFIXES, valid_topic
from zonal.broker.version_311 import QOS
from zonal.broker.will import Will
from zonal.errors import AttestationError, GeometryError, MqttError
from zonal.geo import Circle

if TYPE_CHECKING:
    from zonal.broker.access import User
    from zonal.broker.geocontext import Context
    from zonal.broker.session import ClientSession
    from zonal.broker.settings import Limits

PRECISION = "precision"


def on_connect(
    broker: BrokerState, connection: Connection, packet: mqtt5.ConnectPacket, now: float
) -> None:
    """Checks a CONNECT, and has its credentials checked."""
    connection.version = connection.reader.version
    connection.maximum_packet = packet.max_packet_size or UNLIMITED
    _check(broker, connection, packet)
    connection.connect = packet
    connection.stage = Stage.PROVING
    if packet.authentication_method is not None:
        authentication.begin(broker, connection, packet.authentication_data, now)
        connection.has_method = True
        connection.stage = Stage.EXCHANGING
        return
    user = connection.entrance.access.recall(packet.username, packet.password, connection.peer)
    if user is not None:
        admit(broker, connection, user, now)
    else:
        broker.proving.append(connection)


def _check(broker: BrokerState, connection: Connection, packet: mqtt5.ConnectPacket) -> None:
    entrance, reader = connection.entrance, connection.reader
    method = packet.authentication_method
    if method is not None and method != scram.METHOD:
        raise MqttError(
            reason_codes.BAD_AUTHENTICATION_METHOD, f"{method[:80]!r} is not offered here"
        )
    if method is None and packet.authentication_data is not None:
        raise protocol_error("authentication data without a method")
    if reader.version == 4 and not packet.client_id and (reader.is_31 or not packet.clean_start):
        raise MqttError(
            reason_codes.CLIENT_ID_NOT_VALID, "a session to keep needs a client identifier"
        )
    if packet.will is not None:
        _check_will(packet.will, entrance.limits)
    most = broker.settings.limits.maximum_connections
    if broker.counters.connections > most or (
        entrance.connections > entrance.limits.maximum_connections
    ):
        raise MqttError(reason_codes.SERVER_BUSY, "too many connections")


def _check_will(will: mqtt5.Will, limits: Limits) -> None:
    if not valid_topic(will.topic, limits.maximum_levels) or will.topic.startswith(OWN_PREFIXES):
        raise MqttError(
            reason_codes.TOPIC_INVALID, f"no message can be published to {will.topic!r}"
        )
    check_properties(will, limits)
    check_offered(int(will.qos), will.retain, limits)


def on_auth(broker: BrokerState, connection: Connection, packet: mqtt5.Packet, now: float) -> None:
    """The last message of an exchange that CONNECT began; nothing else may come meanwhile."""
    if isinstance(packet, mqtt5.DisconnectPacket):
        connection.close()
        return
    if not isinstance(packet, mqtt5.AuthPacket):
        raise protocol_error("AUTH or DISCONNECT must follow")
    user, proof = authentication.finish(broker, connection, packet, now)
    if user is None:
        raise MqttError(reason_codes.NOT_AUTHORIZED, "user name or password is wrong")
    admit(broker, connection, user, now, proof)


def admit(broker: BrokerState, connection: Connection, user: User, now: float,
          proof: bytes | None = None, *, claimed: bool = False) -> None:  # fmt: skip
    """Opens the session of a client whose credentials were checked."""
    packet = connection.connect
    assert packet is not None
    context = _context(broker, packet.user_properties, "")
    precision_m = _precision(broker, packet)
    will = None
    if packet.will is not None:
        will = Will(packet.will, _context(broker, packet.will.user_properties, "in the will: "))
        if geocontext.follows(will.context.geofence):
            raise MqttError(
                reason_codes.IMPLEMENTATION_SPECIFIC, "in the will: around belongs to SUBSCRIBE"
            )
    connection.connect = None
    _configure(broker, connection, packet, user)
    if broker.is_shared and not claimed and connection.client_id not in broker.sessions:
        connection.connect = packet
        connection.stage = Stage.PROVING
        broker.claiming.append(Claim(connection, user, proof))
        return
    connection.allowances = connection.entrance.allowances(user, now)
    session, present = _session(broker, connection, packet, now)
    session.will = will
    session.precision_m = precision_m
    hint = context.hint
    if context.location is not None:
        hint = broker.move(session, context.location, now) or hint
    session.attestation = None
    try:
        broker.present(session, packet.user_properties, now)
    except AttestationError as error:
        # A client that comes back with its old CONNECT is let in, and attested to be nowhere.
        hint = str(error)
        broker.diary.denied(
            session.client_id, "attestation", reason_codes.NOT_AUTHORIZED, hint, now
        )
    broker.journal.session(session)
    welcome = _welcome(connection, session, packet, proof, hint, present=present)
    if len(welcome) > connection.maximum_packet:
        # Nothing may be said before CONNACK, and nothing longer than the client takes.
        broker.leave(connection, now, keep_will=False)
        connection.close()
        return
    broker.diary.came(connection, now, present=present)
    connection.send(welcome)
    broker.watch(connection, now)
    session.resume(now)


def _context(broker: BrokerState, properties: list[tuple[str, str]], where: str) -> Context:
    try:
        return broker.context(properties)
    except GeometryError as error:
        raise MqttError(reason_codes.IMPLEMENTATION_SPECIFIC, f"{where}{error}") from error


def _precision(broker: BrokerState, packet: mqtt5.ConnectPacket) -> float | None:
    """How finely a client wants its location told to others, as in `precision=1km`."""
    for name, text in packet.user_properties:
        if name == PRECISION and broker.settings.geo:
            circle = _context(broker, [(geocontext.AROUND, text)], "precision: ").geofence
            return circle.radius_m if isinstance(circle, Circle) else None
    return None


def _configure(
    broker: BrokerState, connection: Connection, packet: mqtt5.ConnectPacket, user: User
) -> None:
    """What CONNECT says about this connection alone."""
    settings, limits = broker.settings, connection.entrance.limits
    connection.user = user
    assigned = connection.client_id or f"zonal-{secrets.token_hex(10)}"
    connection.client_id = packet.client_id or assigned
    connection.reader.limit = limits.maximum_packet_size
    connection.quota = min(packet.receive_max, limits.maximum_inflight)
    connection.topic_alias_maximum = packet.topic_alias_max
    connection.verbatim = 0 if packet.topic_alias_max else connection.version
    connection.problem_information = packet.request_problem_info
    keep_alive = packet.keep_alive
    if settings.keep_alive and not 0 < keep_alive <= settings.keep_alive:
        keep_alive = settings.keep_alive
    # Version 3.1.1 has no way to be told another interval.
    connection.keep_alive = keep_alive if connection.version == 5 else packet.keep_alive


def _session(
    broker: BrokerState, connection: Connection, packet: mqtt5.ConnectPacket, now: float
) -> tuple[ClientSession, bool]:
    """The client's session, new or continued, after whoever held it was sent away (3.1.4)."""
    client_id = connection.client_id
    user_name = connection.user.name if connection.user else None
    old = broker.sessions.get(client_id)
    if old is not None and old.user_name != user_name:
        raise MqttError(reason_codes.NOT_AUTHORIZED, "this client identifier is another user's")
    if old is not None and old.connection is not None:
        broker.drop(
            old.connection, reason_codes.SESSION_TAKEN_OVER, "the client connected again", now
        )
    old = broker.sessions.get(client_id)
    if old is not None and packet.clean_start:
        broker.end(old, now)
        old = None
    full = packet.session_expiry_interval > 0 and broker.ledger.store_is_full
    if old is None and (full or len(broker.sessions) >= broker.settings.limits.maximum_sessions):
        raise MqttError(reason_codes.QUOTA_EXCEEDED, "too many sessions")
    session = old or broker.new_session(client_id, user_name)
    session.connection = connection
    rules = None if session.user is None else session.user.rules
    session.user = connection.user
    broker.continued(session)
    if old is not None and connection.user and connection.user.rules is not rules:
        hold_to_rules(broker, session)  # it came in by another entrance before
    session.expiry = min(packet.session_expiry_interval, broker.settings.session_expiry)
    broker.set_durable(session, durable=session.expiry > 0)
    broker.attached[connection] = session
    connection.stage = Stage.OPEN
    return session, old is not None


def _welcome(connection: Connection, session: ClientSession,
             packet: mqtt5.ConnectPacket, proof: bytes | None, hint: str, *,
             present: bool) -> bytes:  # fmt: skip
    """CONNACK, with what this server does differently from what the client asked for."""
    if connection.version == 4:
        told = present and not connection.reader.is_31
        return version_311.connack(reason_codes.SUCCESS, session_present=told)
    limits = connection.entrance.limits
    changed_expiry = session.expiry != packet.session_expiry_interval
    changed_keep_alive = connection.keep_alive != packet.keep_alive
    return mqtt5.ConnAckPacket(
        session_present=present,
        session_expiry_interval=session.expiry if changed_expiry else None,
        assigned_client_id=None if packet.client_id else connection.client_id,
        server_keep_alive=connection.keep_alive if changed_keep_alive else None,
        receive_max=limits.receive_maximum,
        topic_alias_max=limits.topic_alias_maximum,
        max_packet_size=limits.maximum_packet_size,
        reason_str=hint or None,
        max_qos=QOS[limits.maximum_qos],
        retain_available=limits.retain_available,
        authentication_method=None if proof is None else scram.METHOD,
        authentication_data=proof,
    ).write()

"""AUTH: the exchange that an authentication method needs, at CONNECT and later (MQTT 5, 4.12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mqtt5

from zonal.broker import reason_codes, scram
from zonal.broker.reason_codes import protocol_error
from zonal.broker.throttle import neighbourhood
from zonal.errors import MqttError

if TYPE_CHECKING:
    from zonal.broker.access import User
    from zonal.broker.connection import Connection
    from zonal.broker.session import ClientSession
    from zonal.broker.state import BrokerState

CONTINUE, AGAIN, SUCCESS = (mqtt5.AuthReasonCode(code) for code in (0x18, 0x19, 0x00))


def begin(broker: BrokerState, connection: Connection, data: bytes | None, now: float) -> None:
    """Answers a client's first message; raises `MqttError` where nothing can come of it."""
    exchange = connection.entrance.access.exchange()
    if exchange is None:
        raise MqttError(
            reason_codes.BAD_AUTHENTICATION_METHOD, "no authentication method is offered here"
        )
    answer = exchange.first(data)
    address = neighbourhood(connection.peer.address)
    if not broker.throttle.allows(address, exchange.user_name, now):
        raise MqttError(reason_codes.NOT_AUTHORIZED, "too many wrong passwords; try again later")
    connection.exchange = exchange
    _send(connection, CONTINUE, answer)


def finish(
    broker: BrokerState, connection: Connection, packet: mqtt5.AuthPacket, now: float
) -> tuple[User | None, bytes]:
    """The user that a client's last message proves, and the server's own proof."""
    exchange, connection.exchange = connection.exchange, None
    if packet.authentication_method != scram.METHOD:
        raise protocol_error("the authentication method must be that of CONNECT")
    if packet.reason_code != CONTINUE or exchange is None:
        raise protocol_error("an AUTH that was not asked for")
    try:
        proof = exchange.final(packet.authentication_data)
    except MqttError:
        address = neighbourhood(connection.peer.address)
        broker.throttle.count(address, exchange.user_name, now)
        raise
    return connection.entrance.access.user(exchange.user_name), proof


def on_auth(broker: BrokerState, connection: Connection, session: ClientSession,
            packet: mqtt5.AuthPacket, now: float) -> None:  # fmt: skip
    """A connected client proves again who it is; what it may do is what its rules say now."""
    if not connection.has_method:
        raise protocol_error("no authentication method was agreed")
    if packet.reason_code == AGAIN:
        if packet.authentication_method != scram.METHOD:
            raise protocol_error("the authentication method must be that of CONNECT")
        begin(broker, connection, packet.authentication_data, now)
        return
    user, proof = finish(broker, connection, packet, now)
    if user is None or user.name != session.user_name:
        raise MqttError(reason_codes.NOT_AUTHORIZED, "another user's credentials")
    connection.user = session.user = user
    _send(connection, SUCCESS, proof)


def _send(connection: Connection, code: mqtt5.AuthReasonCode, data: bytes) -> None:
    packet = mqtt5.AuthPacket(
        reason_code=code, authentication_method=scram.METHOD, authentication_data=data
    ).write()
    if len(packet) > connection.maximum_packet:
        raise MqttError(reason_codes.PACKET_TOO_LARGE, "the answer is larger than you take")
    connection.send(packet)

"""What each packet of a connected client does (MQTT 5, sections 3.3 to 3.14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mqtt5

from zonal.broker import reason_codes
from zonal.broker.handshake import on_connect
from zonal.broker.publishing import on_publish, on_pubrel
from zonal.broker.session import RELEASED
from zonal.broker.subscribing import on_subscribe, on_unsubscribe
from zonal.errors import MqttError

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.broker.connection import Connection
    from zonal.broker.core import Broker
    from zonal.broker.session import ClientSession, Outgoing

CLIENT_DISCONNECT = frozenset(
    {0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99}
)


def _under_way(connection: Connection, packet_id: int, qos: int) -> Outgoing | None:
    """The delivery an acknowledgement is about; one of the wrong QoS breaks the protocol."""
    session = _session(connection)
    if packet_id == 0:
        raise MqttError(reason_codes.PROTOCOL_ERROR, "packet identifier 0")
    entry = session.inflight.get(packet_id)
    if entry is not None and entry.qos != qos:
        raise MqttError(
            reason_codes.PROTOCOL_ERROR,
            f"packet identifier {packet_id} is a QoS {entry.qos} delivery's",
        )
    return entry


def _session(connection: Connection) -> ClientSession:
    assert connection.session is not None
    return connection.session


def _on_puback(_: Broker, connection: Connection, packet: mqtt5.PubAckPacket, now: float) -> None:
    if _under_way(connection, packet.packet_id, 1) is not None:
        _session(connection).acknowledged(packet.packet_id, now)


def _on_pubrec(_: Broker, connection: Connection, packet: mqtt5.PubRecPacket, now: float) -> None:
    packet_id = packet.packet_id
    failed = int(packet.reason_code) >= reason_codes.FAILURE
    if _under_way(connection, packet_id, 2) is None:
        if not failed:
            connection.acknowledge(mqtt5.PubRelPacket, packet_id, reason_codes.PACKET_ID_NOT_FOUND)
    elif failed:
        _session(connection).acknowledged(packet_id, now)
    else:
        _session(connection).released(packet_id)
        connection.acknowledge(mqtt5.PubRelPacket, packet_id)


def _on_pubcomp(_: Broker, connection: Connection, packet: mqtt5.PubCompPacket, now: float) -> None:
    entry = _under_way(connection, packet.packet_id, 2)
    if entry is None:
        return
    if entry.state != RELEASED:
        raise MqttError(reason_codes.PROTOCOL_ERROR, "PUBCOMP before PUBREC")
    _session(connection).acknowledged(packet.packet_id, now)


def _on_pingreq(
    _: Broker, connection: Connection, _packet: mqtt5.PingReqPacket, _now: float
) -> None:
    connection.send(b"\xd0\x00")


def _on_disconnect(
    broker: Broker, connection: Connection, packet: mqtt5.DisconnectPacket, now: float
) -> None:
    """The client leaves; it may take its will back and change when its session ends."""
    code = int(packet.reason_code)
    if code not in CLIENT_DISCONNECT or packet.server_reference is not None:
        raise MqttError(reason_codes.PROTOCOL_ERROR, "a DISCONNECT that only a server sends")
    session = _session(connection)
    expiry = packet.session_expiry_interval
    if expiry is not None:
        if session.expiry == 0 and expiry != 0:
            raise MqttError(
                reason_codes.PROTOCOL_ERROR,
                "a session that ends with its connection cannot be kept",
            )
        session.expiry = min(expiry, broker.settings.session_expiry)
    broker.leave(connection, now, keep_will=code != reason_codes.SUCCESS)
    connection.close()


# Each handler takes the packet type that stands beside it.
HANDLERS: dict[type, Callable[[Broker, Connection, Any, float], None]] = {
    mqtt5.ConnectPacket: on_connect,
    mqtt5.PublishPacket: on_publish,
    mqtt5.PubAckPacket: _on_puback,
    mqtt5.PubRecPacket: _on_pubrec,
    mqtt5.PubRelPacket: on_pubrel,
    mqtt5.PubCompPacket: _on_pubcomp,
    mqtt5.SubscribePacket: on_subscribe,
    mqtt5.UnsubscribePacket: on_unsubscribe,
    mqtt5.PingReqPacket: _on_pingreq,
    mqtt5.DisconnectPacket: _on_disconnect,
}

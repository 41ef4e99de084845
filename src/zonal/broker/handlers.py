"""What each packet of a connected client does (MQTT 5, sections 3.3 to 3.14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mqtt5

from zonal.broker import reason_codes
from zonal.broker.authentication import on_auth
from zonal.broker.outgoing import RELEASED
from zonal.broker.publishing import on_publish, on_pubrel
from zonal.broker.reason_codes import protocol_error
from zonal.broker.subscribing import on_subscribe, on_unsubscribe

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.broker.connection import Connection
    from zonal.broker.outgoing import Outgoing
    from zonal.broker.session import ClientSession
    from zonal.broker.state import BrokerState

CLIENT_DISCONNECT = frozenset(
    {0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99}
)


def _under_way(session: ClientSession, packet_id: int, qos: int) -> Outgoing | None:
    """The delivery an acknowledgement is about; one of the wrong QoS breaks the protocol."""
    if packet_id == 0:
        raise protocol_error("packet identifier 0")
    entry = session.inflight.get(packet_id)
    if entry is not None and entry.qos != qos:
        raise protocol_error(f"packet identifier {packet_id} is a QoS {entry.qos} delivery's")
    return entry


def _on_connect(_: BrokerState, _connection: Connection, _session: ClientSession,
                _packet: mqtt5.ConnectPacket, _now: float) -> None:  # fmt: skip
    raise protocol_error("a second CONNECT on one connection")


def _on_puback(_: BrokerState, _connection: Connection, session: ClientSession,
               packet: mqtt5.PubAckPacket, now: float) -> None:  # fmt: skip
    if _under_way(session, packet.packet_id, 1) is not None:
        session.acknowledged(packet.packet_id, now)


def _on_pubrec(_: BrokerState, connection: Connection, session: ClientSession,
               packet: mqtt5.PubRecPacket, now: float) -> None:  # fmt: skip
    packet_id = packet.packet_id
    failed = int(packet.reason_code) >= reason_codes.FAILURE
    if _under_way(session, packet_id, 2) is None:
        if not failed:
            connection.acknowledge(mqtt5.PubRelPacket, packet_id, reason_codes.PACKET_ID_NOT_FOUND)
    elif failed:
        session.acknowledged(packet_id, now)
    else:
        session.released(packet_id)
        connection.acknowledge(mqtt5.PubRelPacket, packet_id)


def _on_pubcomp(_: BrokerState, _connection: Connection, session: ClientSession,
                packet: mqtt5.PubCompPacket, now: float) -> None:  # fmt: skip
    entry = _under_way(session, packet.packet_id, 2)
    if entry is None:
        return
    if entry.state != RELEASED:
        raise protocol_error("PUBCOMP before PUBREC")
    session.acknowledged(packet.packet_id, now)


def _on_disconnect(broker: BrokerState, connection: Connection, session: ClientSession,
                   packet: mqtt5.DisconnectPacket, now: float) -> None:  # fmt: skip
    """The client leaves; it may take its will back and change when its session ends."""
    code = int(packet.reason_code)
    if code not in CLIENT_DISCONNECT or packet.server_reference is not None:
        raise protocol_error("a DISCONNECT that only a server sends")
    expiry = packet.session_expiry_interval
    if expiry is not None:
        if session.expiry == 0 and expiry != 0:
            raise protocol_error("a session that ends with its connection cannot be kept")
        session.expiry = min(expiry, broker.settings.session_expiry)
    broker.diary.left(connection, f"DISCONNECT 0x{code:02x}", now)
    broker.leave(connection, now, keep_will=code != reason_codes.SUCCESS)
    connection.close()


# Each handler takes the packet type that stands beside it.
HANDLERS: dict[type, Callable[[BrokerState, Connection, ClientSession, Any, float], None]] = {
    mqtt5.ConnectPacket: _on_connect,
    mqtt5.PublishPacket: on_publish,
    mqtt5.PubAckPacket: _on_puback,
    mqtt5.PubRecPacket: _on_pubrec,
    mqtt5.PubRelPacket: on_pubrel,
    mqtt5.PubCompPacket: _on_pubcomp,
    mqtt5.SubscribePacket: on_subscribe,
    mqtt5.UnsubscribePacket: on_unsubscribe,
    mqtt5.PingReqPacket: lambda _, connection, *_rest: connection.send(b"\xd0\x00"),
    mqtt5.DisconnectPacket: _on_disconnect,
    mqtt5.AuthPacket: on_auth,
}

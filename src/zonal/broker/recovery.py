"""Fills a broker from its store when it starts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import mqtt5

from zonal.broker import geocontext
from zonal.broker.message import Message
from zonal.broker.outgoing import Outgoing
from zonal.broker.session import ClientSession, ClientSubscription
from zonal.broker.topics import parse_pattern
from zonal.broker.will import Will
from zonal.errors import BrokerError
from zonal.geo import Point, area_from_dict

if TYPE_CHECKING:
    from zonal.broker.state import BrokerState
    from zonal.broker.store import Store


def recover(broker: BrokerState, store: Store, now: float) -> None:
    """Fills a new broker from its store; every client counts as disconnected from now on.

    A client that was connected when the process died lost its connection then: its session expiry
    and its will delay begin now, as the specification has it for lost connections.
    """
    try:
        _recover(broker, store, now)
    except (ValueError, TypeError, KeyError) as error:
        raise BrokerError(f"{store.path} cannot be read: {error}") from error
    store.commit()


def _recover(broker: BrokerState, store: Store, now: float) -> None:
    messages = {
        int(key): _message(packet, expires_at, source)
        for key, packet, expires_at, source in store.rows("SELECT * FROM message")
    }
    for key, message in messages.items():
        message.key = key
    store.resume_at(max(messages, default=0) + 1)
    for _, packet, expires_at, source, retained_at in store.rows("SELECT * FROM retained"):
        message = _message(packet, expires_at, source)
        message.retained_at = retained_at
        if message.expired(now):
            store.clear(message.topic)
        else:
            broker.retained.put(message)
    absent = _sessions(broker, store)
    _subscriptions(broker, store)
    _outgoing(broker, store, messages)
    for client_id, packet_id, code in store.rows("SELECT * FROM incoming"):
        broker.sessions[client_id].incoming[packet_id] = code
    for session, was_connected in absent:
        broker.resume_deadlines(session, now, was_connected=was_connected)


def _message(packet: bytes, expires_at: float | None, source: str | None) -> Message:
    stored, _ = mqtt5.read(memoryview(packet))
    assert isinstance(stored, mqtt5.PublishPacket)
    message = Message.from_packet(stored, stored.topic, stored.payload, 0.0)
    message.expires_at, message.source = expires_at, source
    if stored.user_properties:
        message.location, message.geofence = geocontext.read(stored.user_properties)
    return message


def _sessions(broker: BrokerState, store: Store) -> list[tuple[ClientSession, bool]]:
    found = []
    for row in store.rows("SELECT * FROM session"):
        client_id, user_name, expiry, expires_at, connected, lat, lon, will, will_at = row
        session = broker.new_session(client_id, user_name)
        session.user = broker.access.user(user_name)
        session.expiry, session.expires_at, session.will_at = expiry, expires_at, will_at
        session.durable = True
        session.location = None if lat is None else Point(lat, lon)
        session.will = None if will is None else _will(will)
        found.append((session, bool(connected)))
    return found


def _will(data: bytes) -> Will:
    packet, _ = mqtt5.read(memoryview(data))
    assert isinstance(packet, mqtt5.ConnectPacket)
    assert packet.will is not None
    return Will(packet.will, geocontext.read(packet.will.user_properties))


def _subscriptions(broker: BrokerState, store: Store) -> None:
    for row in store.rows("SELECT * FROM subscription"):
        client_id, pattern, qos, no_local, retain_as_published, identifier, area = row
        parsed = parse_pattern(pattern, broker.settings.limits.maximum_levels)
        if parsed is None:
            continue
        session = broker.sessions[client_id]
        subscription = ClientSubscription(
            session,
            pattern,
            parsed.filter,
            group=parsed.group,
            qos=qos,
            no_local=bool(no_local),
            retain_as_published=bool(retain_as_published),
            identifier=identifier,
            area=None if area is None else area_from_dict(json.loads(area)),
        )
        session.subscriptions[pattern] = subscription
        broker.matching.add(subscription)


def _outgoing(broker: BrokerState, store: Store, messages: dict[int, Message]) -> None:
    for row in store.rows("SELECT * FROM outgoing ORDER BY client_id, number"):
        client_id, number, key, qos, retain, identifiers, share, packet_id, state = row
        message = messages[key]
        message.references += 1
        ids = tuple(map(int, identifiers.split(","))) if identifiers else ()
        entry = Outgoing(message, qos, bool(retain), ids, share, packet_id, state, number)
        broker.sessions[client_id].restore(entry)

"""Fills a broker from its store when it starts, whatever is in it."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import mqtt5

from zonal.broker import geocontext
from zonal.broker.ledger import weight_of
from zonal.broker.message import Message
from zonal.broker.outgoing import QUEUED, RELEASED, Outgoing
from zonal.broker.packet_reader import read
from zonal.broker.permission import check_subscription
from zonal.broker.session import ClientSession, ClientSubscription
from zonal.broker.settings import NEVER
from zonal.broker.topics import parse_pattern
from zonal.broker.watch import watch_from_dict
from zonal.broker.will import Will
from zonal.errors import GeometryError, ZonalError
from zonal.geo import Point, area_from_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from zonal.broker.sql_journal import SqlJournal
    from zonal.broker.state import BrokerState

logger = logging.getLogger(__name__)

TEXT, BYTES, WHOLE, NUMBER, NOTHING = (str,), (bytes,), (int,), (int, float), (type(None),)
SHAPES: dict[str, tuple[tuple[type, ...], ...]] = {
    "message": (WHOLE, BYTES, NUMBER + NOTHING, TEXT + NOTHING, TEXT + NOTHING),
    "retained": (TEXT, BYTES, NUMBER + NOTHING, TEXT + NOTHING, NUMBER, TEXT + NOTHING),
    "session": (TEXT, TEXT + NOTHING, WHOLE, NUMBER + NOTHING, WHOLE, NUMBER + NOTHING,
                NUMBER + NOTHING, BYTES + NOTHING, NUMBER + NOTHING),
    "subscription": (TEXT, TEXT, WHOLE, WHOLE, WHOLE, WHOLE + NOTHING, TEXT + NOTHING),
    "outgoing": (TEXT, WHOLE, WHOLE, WHOLE, WHOLE, TEXT, TEXT + NOTHING, WHOLE, WHOLE),
    "incoming": (TEXT, WHOLE, WHOLE),
}  # fmt: skip
"""What the columns of each table hold: the database itself takes anything."""
LAST_IDENTIFIER = 268_435_455


def recover(
    broker: BrokerState, store: SqlJournal, now: float, clients: Sequence[str] | None = None
) -> None:
    """Fills a broker from its store, with these clients' sessions or with everything.

    Every client counts as disconnected from now on.

    A client that was connected when the process died lost its connection then: its session expiry
    and its will delay begin now, as the specification has it for lost connections. A row that
    cannot be understood, or belongs to one, is set aside and logged; all others count.
    """
    reading = StoreReading(broker, store, now, clients)
    reading.read("message", reading.message)
    if clients is None:
        reading.read("retained", reading.retained)
    reading.read("session", reading.session)
    reading.read("subscription", reading.subscription)
    reading.read("outgoing", reading.outgoing)
    reading.read("incoming", reading.incoming)
    reading.resume()
    store.commit()


class StoreReading:
    """Takes the rows of each table; a method a table."""

    def __init__(
        self, broker: BrokerState, store: SqlJournal, now: float, clients: Sequence[str] | None
    ) -> None:
        self._clients = clients
        self._broker = broker
        self._store = store
        self._now = now
        self._messages: dict[int, Message] = {}
        self._absent: list[tuple[ClientSession, bool]] = []

    def read(self, table: str, take: Callable[..., None]) -> None:
        """Gives every row of a table to its method."""
        for row in self._store.rows(table, self._clients):
            try:
                for value, kinds in zip(row, SHAPES[table], strict=True):
                    if not isinstance(value, kinds):
                        raise TypeError(f"{value!r} is no {kinds[0].__name__}")  # noqa: TRY301
                take(*row)
            except Exception as error:  # noqa: BLE001 - a broker must start whatever is stored
                logger.warning("a stored %s is set aside: %s", table, describe(error))
                self._store.set_aside(table, row, describe(error))

    def message(self, key: int, packet: bytes, *rest: Any) -> None:
        """A message that sessions wait for."""
        self._store.resume_after(key)
        message = _message(packet, *rest)
        message.key = key
        self._messages[key] = message

    def retained(self, topic: str, packet: bytes, expires_at: float | None, source: str | None,
                 retained_at: float, places: str | None) -> None:  # fmt: skip
        """A topic's retained message."""
        message = _message(packet, expires_at, source, places)
        message.retained_at = float(retained_at)
        if message.expired(self._now):
            self._store.clear(topic)
        else:
            self._broker.retained.put(message)

    def session(self, client_id: str, user_name: str | None, expiry: int,
                expires_at: float | None, connected: int, lat: float | None, lon: float | None,
                will: bytes | None, will_at: float | None) -> None:  # fmt: skip
        """A session's own facts."""
        _within("expiry", expiry, 0, NEVER)
        location = None if lat is None or lon is None else Point(lat, lon)
        last_will = None if will is None else _will(will)
        session = self._broker.new_session(client_id, user_name)
        session.user = self._broker.access.user(user_name)
        session.expiry, session.expires_at, session.will_at = expiry, expires_at, will_at
        session.durable = True
        session.location = location
        session.will = last_will
        self._absent.append((session, bool(connected)))

    def subscription(self, client_id: str, pattern: str, qos: int, no_local: int,
                     retain_as_published: int, identifier: int | None,
                     area: str | None) -> None:  # fmt: skip
        """One subscription of a session."""
        _within("QoS", qos, 0, 2)
        _within("identifier", identifier or 1, 1, LAST_IDENTIFIER)
        parsed = parse_pattern(pattern, self._broker.settings.limits.maximum_levels)
        if parsed is None:
            raise ValueError(f"{pattern!r} is no topic filter")
        session = self._broker.sessions[client_id]
        values = None if area is None else json.loads(area)
        watch = None if values is None else watch_from_dict(values, self._broker.timers)
        place = None if values is None else area_from_dict(values)
        wanted = place if watch is None else watch.matched
        verdict = check_subscription(session, parsed.filter, wanted)
        subscription = ClientSubscription(
            session,
            pattern,
            parsed.filter,
            group=parsed.group,
            qos=qos,
            no_local=bool(no_local),
            retain_as_published=bool(retain_as_published),
            identifier=identifier,
            area=wanted if verdict is None else verdict.area,
            asked=wanted,
            watch=watch,
            weight=weight_of(pattern, len(area or "")),
        )
        self._broker.matching.add(subscription)
        session.subscribe(subscription)

    def outgoing(self, client_id: str, number: int, key: int, qos: int, retain: int,
                 identifiers: str, share: str | None, packet_id: int,
                 state: int) -> None:  # fmt: skip
        """A message on its way to a session."""
        _within("QoS", qos, 0, 2)
        _within("state", state, QUEUED, RELEASED)
        _within("packet identifier", packet_id, 0 if state == QUEUED else 1, 0xFFFF)
        session, message = self._broker.sessions[client_id], self._messages[key]
        ids = tuple(map(int, identifiers.split(","))) if identifiers else ()
        for each in ids:
            _within("identifier", each, 1, LAST_IDENTIFIER)
        session.restore(Outgoing(message, qos, bool(retain), ids, share, packet_id, state, number))
        message.references += 1

    def incoming(self, client_id: str, packet_id: int, code: int) -> None:
        """A QoS 2 message that was received and not yet released."""
        _within("packet identifier", packet_id, 1, 0xFFFF)
        _within("code", code, 0, 0xFF)
        self._broker.sessions[client_id].incoming[packet_id] = code

    def resume(self) -> None:
        """Lets time run on; messages that nobody waits for any more are forgotten."""
        for message in self._messages.values():
            if not message.references:
                self._store.forget_message(message)
        for session, was_connected in self._absent:
            try:
                self._broker.resume_deadlines(session, self._now, was_connected=was_connected)
            except Exception:
                logger.exception("the will of %r cannot be published", session.client_id)


def _within(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{what} {value} is not between {low} and {high}")


def stored_message(
    packet: bytes, expires_at: float | None, source: str | None, places: str | None
) -> Message | None:
    """A message from a database; None where it cannot be read."""
    try:
        return _message(packet, expires_at, source, places)
    except Exception as error:  # noqa: BLE001 - whatever is stored
        logger.warning("a stored message cannot be read: %s", describe(error))
        return None


def describe(error: Exception) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {error}"


def _message(
    packet: bytes, expires_at: float | None, source: str | None, places: str | None
) -> Message:
    stored = read(packet, 0, len(packet))
    assert isinstance(stored, mqtt5.PublishPacket)
    message = Message.from_packet(stored, stored.topic, stored.payload, 0.0)
    message.expires_at, message.source = expires_at, source
    if places is None:
        context = _context(stored.user_properties)
        message.location, message.geofence = context.location, context.geofence
        return message
    known = json.loads(places)
    location, geofence = known["location"], known["geofence"]
    message.location = None if location is None else Point(*location)
    message.geofence = None if geofence is None else area_from_dict(geofence)
    return message


def _context(properties: list[tuple[str, str]]) -> geocontext.Context:
    """The places in user properties, where all of them can be read."""
    try:
        return geocontext.read(properties)
    except GeometryError:
        return geocontext.NOWHERE


def _will(data: bytes) -> Will | None:
    """A stored will; None where it cannot be published, which costs the session nothing else."""
    try:
        packet = read(data, 0, len(data))
        assert isinstance(packet, mqtt5.ConnectPacket)
        assert packet.will is not None
        will = Will(packet.will, _context(packet.will.user_properties))
        if geocontext.follows(will.context.geofence):
            raise GeometryError("around belongs to SUBSCRIBE")
    except (ZonalError, AssertionError) as error:
        logger.warning("a stored will is given up: %s", describe(error))
        return None
    return will

"""What a broker's journal writes, in SQL; which database takes it is another module's matter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import mqtt5

from zonal.broker.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.broker.message import Message
    from zonal.broker.outgoing import Outgoing
    from zonal.broker.session import ClientSession, ClientSubscription

Row = tuple[object, ...]

KEYS = {
    "session": ("client_id",),
    "subscription": ("client_id", "pattern"),
    "retained": ("topic",),
    "message": ("key",),
    "outgoing": ("client_id", "number"),
    "incoming": ("client_id", "packet_id"),
}
"""The columns that name a row of each table; they are its first ones."""

COLUMNS = {
    "session": "client_id user_name expiry expires_at connected latitude longitude will will_at",
    "subscription": "client_id pattern qos no_local retain_as_published identifier area",
    "retained": "topic packet expires_at source retained_at places",
    "message": "key packet expires_at source places",
    "outgoing": "client_id number message qos retain identifiers share packet_id state",
    "incoming": "client_id packet_id code",
}


def _put(table: str) -> str:
    """The statement that writes a row, in the place of one with the same key."""
    keys, columns = KEYS[table], COLUMNS[table].split()
    marks = ", ".join("?" * len(columns))
    rest = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in keys)
    return (
        f"INSERT INTO {table} VALUES ({marks}) "  # noqa: S608 - names of our own
        f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {rest}"
    )


PUT_SESSION, PUT_SUBSCRIPTION, PUT_RETAINED = map(_put, ("session", "subscription", "retained"))
PUT_MESSAGE, PUT_OUTGOING, PUT_INCOMING = map(_put, ("message", "outgoing", "incoming"))
MARK = "UPDATE outgoing SET packet_id = ?, state = ? WHERE client_id = ? AND number = ?"
FORGET = "DELETE FROM outgoing WHERE client_id = ? AND number = ?"
FORGET_MESSAGE = "DELETE FROM message WHERE key = ?"
UNSUBSCRIBE = "DELETE FROM subscription WHERE client_id = ? AND pattern = ?"
CLEAR = "DELETE FROM retained WHERE topic = ?"
RELEASE = "DELETE FROM incoming WHERE client_id = ? AND packet_id = ?"
END = tuple(
    f"DELETE FROM {table} WHERE client_id = ?"  # noqa: S608 - the names stand in the next line
    for table in ("session", "subscription", "outgoing", "incoming")
)


class SqlJournal(Journal):
    """Gathers changes as statements and their rows; a subclass commits them and reads them again.

    A `?` in a statement stands for a value.
    """

    SAME = "IS"
    """Compares keys, also those that are NULL."""

    def __init__(self) -> None:
        self._changes: list[tuple[str, Row]] = []
        self._next_message = 1

    def rows(self, table: str, clients: Sequence[str] | None = None) -> list[Any]:
        """What is stored, in the order of the table's key: of these clients, or everything."""
        raise NotImplementedError

    def set_aside(self, table: str, row: Row, reason: str) -> None:
        """Moves a row that cannot be understood to where nothing reads it but a person."""
        contents = json.dumps(row, default=lambda value: bytes(value).hex())
        self._change("INSERT INTO aside VALUES (?, ?, ?)", table, contents, reason)
        keys = KEYS[table]
        chosen = " AND ".join(f"{key} {self.SAME} ?" for key in keys)
        self._change(f"DELETE FROM {table} WHERE {chosen}", *row[: len(keys)])  # noqa: S608

    def resume_after(self, key: int) -> None:
        """A message of this number is stored: the next ones have higher numbers."""
        self._next_message = max(self._next_message, key + 1)

    def _change(self, statement: str, *row: object) -> None:
        self._changes.append((statement, row))

    def _change_of(self, session: ClientSession, statement: str, *row: object) -> None:
        """A change of what belongs to a session, whose client identifier begins the row."""
        if session.durable:
            self._changes.append((statement, (session.client_id, *row)))

    # The journal.

    def session(self, session: ClientSession) -> None:
        """Keeps a session's own facts."""
        if not session.durable:
            return
        location = session.location
        will = session.will
        self._change(
            PUT_SESSION,
            session.client_id,
            session.user_name,
            session.expiry,
            session.expires_at,
            session.connection is not None,
            None if location is None else location.lat,
            None if location is None else location.lon,
            # A will is kept as it came: inside a CONNECT.
            None if will is None else mqtt5.ConnectPacket("", will=will.packet).write(),
            session.will_at,
        )

    def end(self, session: ClientSession) -> None:
        """Forgets a session."""
        for statement in END:
            self._change_of(session, statement)

    def subscribe(self, subscription: ClientSubscription) -> None:
        """Keeps a subscription."""
        session, area = subscription.session, subscription.asked
        if not session.durable:
            return
        self._change(
            PUT_SUBSCRIPTION,
            session.client_id,
            subscription.pattern,
            subscription.qos,
            subscription.no_local,
            subscription.retain_as_published,
            subscription.identifier,
            None if area is None else json.dumps((subscription.watch or area).to_dict()),
        )

    def unsubscribe(self, session: ClientSession, pattern: str) -> None:
        """Forgets a subscription."""
        self._change_of(session, UNSUBSCRIBE, pattern)

    def retain(self, message: Message) -> None:
        """Keeps a retained message."""
        self._change(
            PUT_RETAINED,
            message.topic,
            packet_of(message),
            message.expires_at,
            message.source,
            message.retained_at,
            places_of(message),
        )

    def clear(self, topic: str) -> None:
        """Forgets a retained message."""
        self._change(CLEAR, topic)

    def keep(self, client_id: str, entry: Outgoing) -> None:
        """Keeps a message for a session; the message itself once for all sessions."""
        message = entry.message
        if message.references == 0:
            message.key = self._next_message
            self._next_message += 1
            self._change(
                PUT_MESSAGE, message.key, packet_of(message), message.expires_at, message.source,
                places_of(message),
            )  # fmt: skip
        message.references += 1
        self._change(
            PUT_OUTGOING,
            client_id,
            entry.number,
            message.key,
            entry.qos,
            entry.retain,
            ",".join(map(str, entry.identifiers)),
            entry.share,
            entry.packet_id,
            entry.state,
        )

    def mark(self, client_id: str, entry: Outgoing) -> None:
        """Keeps how far a message has come."""
        self._change(MARK, entry.packet_id, entry.state, client_id, entry.number)

    def forget(self, client_id: str, entry: Outgoing) -> None:
        """Forgets a message for a session, and the message with its last session."""
        self._change(FORGET, client_id, entry.number)
        message = entry.message
        message.references -= 1
        if message.references == 0:
            self.forget_message(message)

    def forget_message(self, message: Message) -> None:
        """Forgets a message that no session waits for."""
        self._change(FORGET_MESSAGE, message.key)

    def received(self, session: ClientSession, packet_id: int, code: int) -> None:
        """Keeps the identifier of a QoS 2 message that was acted upon."""
        self._change_of(session, PUT_INCOMING, packet_id, code)

    def released(self, session: ClientSession, packet_id: int) -> None:
        """Forgets it."""
        self._change_of(session, RELEASE, packet_id)


def packet_of(message: Message) -> bytes:
    """A message as the PUBLISH it is; when it expires is kept beside it, as a time."""
    now = message.expires_at or 0.0
    return message.packet(now, message.qos, retain=message.retain).write()


def places_of(message: Message) -> str | None:
    """Where a message comes from and whom it is for, whatever its user properties say of it."""
    location, geofence = message.location, message.geofence
    if location is None and geofence is None and not message.user_properties:
        return None
    return json.dumps(
        {
            "location": None if location is None else [location.lat, location.lon],
            "geofence": None if geofence is None else geofence.to_dict(),
        }
    )

"""The broker as a machine: bytes and time in, bytes and closings out; no sockets, no clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal import __version__
from zonal.broker import handlers, handshake, reason_codes
from zonal.broker.access import Access, OpenAccess, User
from zonal.broker.connection import Connection, RemoteEnd, Stage
from zonal.broker.counters import BrokerCounters
from zonal.broker.distribution import Distributor
from zonal.broker.express import Express
from zonal.broker.journal import Journal, NoJournal
from zonal.broker.matching import Matching
from zonal.broker.message import Message
from zonal.broker.retained import Retained
from zonal.broker.settings import NEVER, Settings
from zonal.broker.timers import Timers
from zonal.errors import MqttError

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.broker.session import ClientSession
    from zonal.broker.subscription import ClientSubscription
    from zonal.geo import Point


class Broker:
    """All sessions of a broker. The rim calls `receive`, `lost` and `tick`, then `flush`es."""

    def __init__(self, settings: Settings | None = None, *, access: Access | None = None,
                 journal: Journal | None = None, now: float = 0.0) -> None:  # fmt: skip
        self.settings = settings or Settings()
        self.access: Access = access or OpenAccess()
        self.journal: Journal = journal or NoJournal()
        self.counters = BrokerCounters(started_at=now)
        self.sessions: dict[str, ClientSession] = {}
        self.retained = Retained()
        self.matching = Matching()
        self.distributor = Distributor(self.matching, self.settings.limits.maximum_levels)
        self.express = Express(self)
        self.timers = Timers()
        self.outbox: list[Connection] = []
        self.proving: list[Connection] = []
        """Connections whose credentials the rim has to check."""
        self.on_publish: Callable[[Message], None] | None = None
        """Called with every message that a client of this broker published."""
        self.on_retained_wanted: Callable[[ClientSubscription], None] | None = None
        """Called with every subscription that wants what is retained."""
        if self.settings.sys_interval > 0:
            self.timers.at(now, self._publish_counters)

    # What the rim calls.

    def open(self, peer: RemoteEnd, now: float) -> Connection:
        """A new network connection."""
        limits = self.settings.limits
        connection = Connection(self.outbox, peer, limits.connect_packet_size)
        self.counters.connections += 1
        self.counters.connections_total += 1
        self.timers.at(now + limits.connect_timeout, lambda _: self._check_connected(connection))
        return connection

    def receive(self, connection: Connection, data: bytes, now: float) -> None:
        """Bytes from a client."""
        if connection.stage is Stage.CLOSED:
            return
        self.counters.bytes_received += len(data)
        connection.reader.feed(data)
        self._process(connection, now)

    def _process(self, connection: Connection, now: float) -> None:
        reader = connection.reader
        try:
            while connection.stage is Stage.OPEN or connection.stage is Stage.NEW:
                if connection.session is not None:
                    self.express.take(connection, connection.session, now)
                packet = reader.next()
                if packet is None:
                    return
                connection.last_seen = now
                handlers.HANDLERS[type(packet)](self, connection, packet, now)
        except MqttError as error:
            self.counters.violations += 1
            self.drop(connection, error.reason_code, str(error), now)

    def proved(self, connection: Connection, user: User | None, now: float) -> None:
        """The outcome of checking a connection's credentials."""
        if connection.stage is not Stage.PROVING:
            return
        try:
            handshake.admit(self, connection, user, now)
        except MqttError as error:
            self.drop(connection, error.reason_code, str(error), now)
            return
        self._process(connection, now)

    def lost(self, connection: Connection, now: float) -> None:
        """The network connection is gone."""
        self.counters.connections -= 1
        connection.stage = Stage.CLOSED
        self.leave(connection, now)

    def writable(self, connection: Connection, now: float) -> None:
        """The transport takes bytes again after it had enough."""
        connection.writable = True
        if connection.session is not None:
            connection.session.pump(now)

    def tick(self, now: float) -> None:
        """Time passes: keep-alives, wills, expiries."""
        for due in self.timers.due(now):
            due(now)

    def flush(self) -> list[Connection]:
        """Makes changes last, then names the connections that have bytes to write or must close."""
        self.journal.commit()
        waiting = self.outbox.copy()
        self.outbox.clear()
        return waiting

    # What packets and deadlines lead to.

    def publish(self, message: Message, now: float) -> int:
        """A message from a client: retained if asked for, delivered here, handed on."""
        if message.retain:
            self.retain(message, now)
        receivers = self.distributor.deliver(message, now)
        if self.on_publish is not None:
            self.on_publish(message)
        return receivers

    def retain(self, message: Message, now: float) -> None:
        """Sets or, with an empty payload, clears the topic's retained message (3.3.1.3)."""
        message.retained_at = now
        durable = not message.topic.startswith("$SYS/")
        if message.payload:
            self.retained.put(message)
            if durable:
                self.journal.retain(message)
        elif self.retained.remove(message.topic) and durable:
            self.journal.clear(message.topic)

    def forget_retained(self, topic: str, when: float) -> None:
        """Another broker has the topic's retained message since then."""
        known = self.retained.get(topic)
        if known is not None and known.retained_at < when:
            self.retained.remove(topic)
            self.journal.clear(topic)

    def drop(self, connection: Connection, code: int, reason: str, now: float) -> None:
        """Closes a connection for a reason that the client is told; its will applies."""
        connection.disconnect(code, reason)
        self.leave(connection, now)

    def leave(self, connection: Connection, now: float, *, keep_will: bool = True) -> None:
        """Parts a session from its connection, and decides what becomes of it and its will."""
        session = connection.session
        if session is None:
            return
        connection.session = None
        session.connection = None
        if not keep_will:
            session.will = None
        if session.expiry == 0:
            self.end(session, now)
            return
        self._schedule_will(session, now)
        if session.expiry != NEVER:
            session.expires_at = now + session.expiry
            self._schedule_end(session)
        if session.durable:
            self.journal.session(session)

    def _schedule_will(self, session: ClientSession, now: float) -> None:
        if session.will is None:
            return
        if session.will.delay == 0:
            self.publish_will(session, now)
            return
        self._send_will_at(session, now + min(session.will.delay, session.expiry))

    def _send_will_at(self, session: ClientSession, due: float) -> None:
        session.will_at = due

        def send(now: float) -> None:
            if session.will_at == due:
                self.publish_will(session, now)
                if session.durable:
                    self.journal.session(session)

        self.timers.at(due, send)

    def _schedule_end(self, session: ClientSession) -> None:
        due = session.expires_at
        if due is None:
            return

        def end(now: float) -> None:
            if session.expires_at == due and session.connection is None:
                self.end(session, now)

        self.timers.at(due, end)

    def resume_deadlines(self, session: ClientSession, now: float, *, was_connected: bool) -> None:
        """A session came back from the store without its client: time runs on for it."""
        if was_connected:
            if session.expiry != NEVER:
                session.expires_at = now + session.expiry
            self._schedule_will(session, now)
            self.journal.session(session)
        elif session.will_at is not None:
            self._send_will_at(session, session.will_at)
        self._schedule_end(session)

    def publish_will(self, session: ClientSession, now: float) -> None:
        """Sends a session's will, once."""
        will, session.will, session.will_at = session.will, None, None
        if will is not None and self.may_publish(session, will.topic):
            self.publish(will.message(session, now), now)

    def end(self, session: ClientSession, now: float) -> None:
        """A session is over: its will is sent, its subscriptions and messages are gone."""
        if self.sessions.get(session.client_id) is session:
            del self.sessions[session.client_id]
        self.matching.leave(session)
        session.expires_at = None
        self.publish_will(session, now)
        outstanding = session.outstanding()
        if session.durable:
            self._forget_all(session)
            self.journal.end(session.client_id)
        self.distributor.hand_over(session, outstanding, now)

    def may_publish(self, session: ClientSession, topic: str) -> bool:
        """Whether the session's user may publish to a topic; known while and after it is there."""
        return session.user is None or session.user.may_publish(topic, session.client_id)

    def set_durable(self, session: ClientSession, *, durable: bool) -> None:
        """Has the store keep a session from now on, or no longer."""
        if session.durable and not durable:
            self._forget_all(session)
            self.journal.end(session.client_id)
        elif durable and not session.durable:
            session.durable = True
            self.journal.session(session)
            for subscription in session.subscriptions.values():
                self.journal.subscribe(subscription)
        session.durable = durable

    def _forget_all(self, session: ClientSession) -> None:
        for entry in session.outstanding():
            if entry.number:
                self.journal.forget(session.client_id, entry)
                entry.number = 0

    def move(self, session: ClientSession, location: Point) -> None:
        """A client said where it is."""
        self.matching.locate(session, location)
        if session.durable:
            self.journal.session(session)

    def watch(self, connection: Connection, now: float) -> None:
        """Starts the keep-alive clock: one and a half times the interval (3.1.2.10)."""
        allowance = connection.keep_alive * 1.5
        if allowance <= 0:
            return

        def check(now: float) -> None:
            if connection.stage is not Stage.OPEN:
                return
            due = connection.last_seen + allowance
            if now >= due:
                self.drop(connection, reason_codes.KEEP_ALIVE_TIMEOUT, "keep-alive expired", now)
            else:
                self.timers.at(due, check)

        self.timers.at(now + allowance, check)

    def _check_connected(self, connection: Connection) -> None:
        if connection.stage is Stage.NEW or connection.stage is Stage.PROVING:
            connection.close()

    def shut_down(self, now: float) -> None:
        """Tells every client that the server stops (0x8B); sessions stay as they are."""
        for session in list(self.sessions.values()):
            if session.connection is not None:
                self.drop(session.connection, reason_codes.SHUTTING_DOWN, "", now)

    def _publish_counters(self, now: float) -> None:
        subscriptions = len(self.matching)
        counters = self.counters.topics(
            now, sessions=len(self.sessions), subscriptions=subscriptions,
            retained=len(self.retained), version=__version__,
        )  # fmt: skip
        for topic, text in counters:
            known = self.retained.get(topic)
            if known is None or known.payload != text.encode():
                message = Message(topic, text.encode(), retain=True)
                self.retain(message, now)
                self.distributor.deliver(message, now)
        self.timers.at(now + self.settings.sys_interval, self._publish_counters)

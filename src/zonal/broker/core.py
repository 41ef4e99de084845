"""The broker as a machine: bytes and time in, bytes and closings out; no sockets, no clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mqtt5

from zonal.broker import handlers, handshake, reason_codes
from zonal.broker.connection import Connection, Stage
from zonal.broker.express import Express
from zonal.broker.figures import Figures
from zonal.broker.message import Message
from zonal.broker.packet_reader import PacketReader
from zonal.broker.rates import Use
from zonal.broker.state import BrokerState
from zonal.errors import MqttError

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.broker.access import Access, RemoteEnd, User
    from zonal.broker.entrance import Entrance
    from zonal.broker.journal import Journal
    from zonal.broker.settings import Settings
    from zonal.broker.state import Claim


READING = (Stage.NEW, Stage.EXCHANGING, Stage.OPEN)
"""Stages in which a client's packets are looked at. A tuple, as members of a set are hashed."""


class Broker(BrokerState):
    """What the rim drives: it calls `receive`, `lost` and `tick`, then writes what `flush` names.

    Args:
        settings: limits and behaviour.
        access: who is let in; by default anyone.
        journal: what keeps durable sessions and retained messages; by default nothing does.
        now: seconds since the epoch, as in all calls.
    """

    def __init__(self, settings: Settings | None = None, *, access: Access | None = None,
                 journal: Journal | None = None, now: float = 0.0) -> None:  # fmt: skip
        super().__init__(settings, access, journal, now)
        self.express = Express(self)
        self.figures = Figures(self, now)
        self.timers.at(now, self._measure)
        if self.settings.sys_interval > 0:
            self.timers.at(now, self._publish_counters)

    def open(self, peer: RemoteEnd, now: float, entrance: Entrance | None = None) -> Connection:
        """A new network connection; it is closed if no CONNECT is accepted in time."""
        entrance = entrance or self.entrances[0]
        limits = entrance.limits
        reader = PacketReader(limits.connect_packet_size)
        connection = Connection(peer, reader, self.outbox, entrance)
        entrance.connections += 1
        self.counters.connections += 1
        self.counters.connections_total += 1

        def check(now: float) -> None:
            if connection.stage is Stage.PROVING:  # it is we who are late
                reason = "its credentials could not be checked in time"
                self.drop(connection, reason_codes.SERVER_BUSY, reason, now)
            elif connection.stage is not Stage.OPEN:
                connection.close()

        connection.deadline = self.timers.at(now + limits.connect_timeout, check)
        return connection

    def receive(
        self, connection: Connection, data: bytes, now: float,
        spent: Callable[[], bool] = lambda: False,
    ) -> float | None:  # fmt: skip
        """Bytes from a client: every complete packet is acted upon; a bad one ends the connection.

        While the credentials of a CONNECT are checked, what follows it waits.

        Args:
            connection: whose bytes they are.
            data: the bytes; none to go on with what waits.
            now: seconds since the epoch.
            spent: whether the client has had its turn: then the rest waits for another call.

        Returns:
            None where nothing waits; else after how many seconds the client's next turn may come.
        """
        if connection.stage is Stage.CLOSED:
            return None
        allowances = connection.allowances
        before = Use.of(self.counters) if allowances else None
        self.counters.bytes_received += len(data)
        connection.reader.feed(data)
        try:
            wait = self._work(connection, now, spent)
        except MqttError as error:
            self.counters.violations += 1
            self.broken.count(connection.peer.address, now)
            self.drop(connection, error.reason_code, str(error), now)
            return None
        if before is not None:
            used = Use.of(self.counters)
            rest = max(allowance.spend(before, used, now) for allowance in allowances)
            if rest > 0:
                self.counters.slowed += 1
                connection.last_seen = now + rest  # its silence is ours
                return rest
        return wait

    def _work(self, connection: Connection, now: float, spent: Callable[[], bool]) -> float | None:
        reader = connection.reader
        while connection.stage in READING:
            session = self.attached.get(connection)
            if session is not None:
                self.express.take(connection, session, now)
            packet = reader.next()
            if packet is None:
                return None
            connection.last_seen = now
            if session is not None:
                handlers.HANDLERS[type(packet)](self, connection, session, packet, now)
            elif isinstance(packet, mqtt5.ConnectPacket) and connection.stage is Stage.NEW:
                handshake.on_connect(self, connection, packet, now)
            else:  # before CONNECT the reader takes no other
                handshake.on_auth(self, connection, packet, now)
            if spent():
                return 0.0
        return None

    def proved(self, connection: Connection, outcome: User | MqttError, now: float) -> None:
        """The outcome of checking a connection's credentials; what waited can be gone on with."""
        if connection.stage is not Stage.PROVING:
            return
        try:
            if isinstance(outcome, MqttError):
                raise outcome
            handshake.admit(self, connection, outcome, now)
        except MqttError as error:
            self.drop(connection, error.reason_code, str(error), now)

    def claimed(self, claim: Claim, now: float) -> None:
        """The session of a client that was let in can go on here, or begin."""
        connection, user, proof = claim
        try:
            handshake.admit(self, connection, user, now, proof, claimed=True)
        except MqttError as error:
            self.drop(connection, error.reason_code, str(error), now)

    def lost(self, connection: Connection, now: float) -> None:
        """The network connection is gone."""
        self.counters.connections -= 1
        connection.entrance.connections -= 1
        connection.stage = Stage.CLOSED
        self.timers.cancel(connection.deadline)
        if connection in self.attached:
            self.diary.left(connection, "the connection was lost", now)
        self.leave(connection, now)

    def writable(self, connection: Connection, now: float) -> None:
        """The transport takes bytes again after it had enough."""
        connection.writable = True
        session = self.attached.get(connection)
        if session is not None:
            session.pump(now)

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

    def shut_down(self, now: float) -> None:
        """Tells every client that the server stops (0x8B); sessions stay as they are."""
        for connection in list(self.attached):
            self.drop(connection, reason_codes.SHUTTING_DOWN, "", now)

    def _measure(self, now: float) -> None:
        """Looks at how much the store holds, and again in a second."""
        self.ledger.store_is_full = self.journal.size() > self.settings.limits.store_bytes
        self.timers.at(now + 1.0, self._measure)

    def _publish_counters(self, now: float) -> None:
        """Publishes the `$SYS` topics whose values have changed, and comes back in a while."""
        for topic, text in self.figures.topics(now):
            known = self.retained.get(topic)
            if known is None or known.payload != text.encode():
                message = Message(topic, text.encode(), retain=True)
                self.retained.publish(message, now)
                self.distributor.deliver(message, now)
        self.timers.at(now + self.settings.sys_interval, self._publish_counters)

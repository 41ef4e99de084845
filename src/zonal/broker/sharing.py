"""Several brokers on one database: a session goes on at whichever broker its client reaches.

What a client publishes is stored with the commit before which it is not acknowledged, and read by
the other brokers in that order; how far each has read is committed with what it queued for its
sessions. So a session that changes its broker, or loses it, misses nothing and gets nothing twice.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from zonal.broker.connection import Stage
from zonal.broker.groups import Groups
from zonal.broker.recovery import recover, stored_message

if TYPE_CHECKING:
    from collections.abc import Collection

    from zonal.broker.core import Broker
    from zonal.broker.message import Message
    from zonal.broker.postgres import PostgresStore

logger = logging.getLogger(__name__)

ADOPT_EVERY = 1.0
"""Seconds between looks for brokers that are gone."""


class Sharing:
    """One broker's part; the rim calls `tick` often, and `claim` when clients have come."""

    def __init__(self, broker: Broker, store: PostgresStore) -> None:
        self._broker = broker
        self._store = store
        self._adopt_at = 0.0
        self._is_alone = False
        broker.is_shared = True
        broker.distributor.on_publish = self._publish
        self._groups = broker.distributor.groups = Groups(store.number)
        broker.matching.watchers.append(self._groups)

    def _publish(self, message: Message) -> None:
        """A client of ours published; topics that begin with `$` stay at their broker."""
        if not self._is_alone and not message.topic.startswith("$"):
            self._store.publish(message)
            self._broker.counters.remote_sent += 1

    def start(self, now: float) -> None:
        """Takes over what nobody holds, and what is retained."""
        for row in self._store.rows("retained"):
            self._take_retained(row)
        self._adopt(now)

    def tick(self, now: float) -> None:
        """Reads what others published, gives what they want, takes what has lost its broker."""
        self._is_alone = self._store.is_alone()
        self._store.tell_members(self._groups.changes())
        self._groups.elsewhere = {} if self._is_alone else self._store.members_elsewhere()
        self._read(now)
        wanted = self._store.wanted()
        if wanted:
            self._is_alone = False
            self._store.commit()
            self._read(now)  # also past what was published here: the next holder goes on behind it
            for client_id in wanted:
                self._broker.give_away(client_id, now)
                self._store.give(client_id)
        for topic in self._store.retained_elsewhere():
            row = self._store.retained_row(topic)
            if row is None:
                self._broker.retained.remove(topic)
            else:
                self._take_retained(row)
        if now >= self._adopt_at:
            self._adopt(now)
        self.claim(now)

    def claim(self, now: float) -> None:
        """Has clients go on whose sessions are held here by now; the others wait."""
        waiting, self._broker.claiming = self._broker.claiming, []
        for claim in waiting:
            name = claim.connection.client_id
            if claim.connection.stage is not Stage.PROVING:
                self._store.unwant(name)
            elif self._store.claim(name):
                if name not in self._broker.sessions:
                    self._read(now)
                    self._take([name], self._store.left_at(name), 0, now)
                self._broker.claimed(claim, now)
            else:
                self._broker.claiming.append(claim)

    def _read(self, now: float) -> None:
        """Delivers what other brokers' clients published."""
        while rows := self._store.arrived():
            for _, serial, packet, *rest in rows:
                message = None if packet is None else stored_message(packet, *rest)
                if message is not None and not message.expired(now):
                    message.serial = serial
                    self._broker.counters.remote_received += 1
                    self._broker.distributor.deliver(message, now)

    def _adopt(self, now: float) -> None:
        self._adopt_at = now + ADOPT_EVERY
        self._store.commit()
        self._read(now)
        for clients, position, broker in self._store.adopt():
            found = [name for name in clients if name not in self._broker.sessions]
            if found:
                logger.info("%d sessions without a broker go on here", len(found))
                self._take(found, position, broker, now)
        self._store.forget_read()

    def _take(self, clients: list[str], position: int | None, broker: int, now: float) -> None:
        """Goes on with sessions, and gives them what was published since their broker last read."""
        missed = [] if position is None else self._store.missed(position, broker)
        recover(self._broker, self._store, now, clients)
        for _, _, packet, *rest in missed:
            message = stored_message(packet, *rest)
            if message is not None and not message.expired(now):
                self._deliver_to(clients, message, now)

    def _deliver_to(self, clients: Collection[str], message: Message, now: float) -> None:
        sessions = [
            self._broker.sessions[name] for name in clients if name in self._broker.sessions
        ]
        self._broker.distributor.deliver(message, now, only=set(sessions))

    def _take_retained(self, row: tuple[Any, ...]) -> None:
        topic, packet, expires_at, source, retained_at, places = row
        message = stored_message(packet, expires_at, source, places)
        if message is None:
            logger.warning("the retained message of %r cannot be read", topic)
            return
        message.retained_at = retained_at
        self._broker.retained.put(message)

"""Several brokers on one database: a session goes on at whichever broker its client reaches."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from zonal.broker.connection import Stage
from zonal.broker.recovery import recover, retained_message

if TYPE_CHECKING:
    from zonal.broker.core import Broker
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
        broker.is_shared = True

    def start(self, now: float) -> None:
        """Takes over what nobody holds, and what is retained."""
        for row in self._store.rows("retained"):
            self._take_retained(row)
        self._adopt(now)

    def tick(self, now: float) -> None:
        """Gives away what is wanted elsewhere, and takes what has lost its broker."""
        for client_id in self._store.wanted():
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
            connection = claim.connection
            if connection.stage is not Stage.PROVING:
                self._store.unwant(connection.client_id)
            elif self._store.claim(connection.client_id):
                if connection.client_id not in self._broker.sessions:
                    recover(self._broker, self._store, now, [connection.client_id])
                self._broker.claimed(claim, now)
            else:
                self._broker.claiming.append(claim)

    def _adopt(self, now: float) -> None:
        self._adopt_at = now + ADOPT_EVERY
        found = [name for name in self._store.adopt() if name not in self._broker.sessions]
        if found:
            logger.info("%d sessions of brokers that are gone go on here", len(found))
            recover(self._broker, self._store, now, found)

    def _take_retained(self, row: tuple[object, ...]) -> None:
        message = retained_message(row)
        if message is not None:
            self._broker.retained.put(message)

"""What a broker shows of itself: figures as `$SYS` topics, for Prometheus and as status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from zonal import __version__
from zonal.broker.loads import Loads
from zonal.runtime import figures_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.broker.state import BrokerState

PREFIX = "$SYS/broker/"
MOST_CLIENTS = 1_000
"""Clients that one status lists."""


class BrokerFigure(NamedTuple):
    """One figure: its `$SYS` topic, its name for Prometheus, and whether it only grows."""

    topic: str
    name: str
    value: int
    grows: bool = True


class Figures:
    """Reads a broker's figures."""

    def __init__(self, broker: BrokerState, now: float) -> None:
        self._broker = broker
        self._loads = Loads(now)
        self._most_clients = 0

    def all(self) -> list[BrokerFigure]:
        """All figures, named as Mosquitto names them where it has the same."""
        broker = self._broker
        counters, ledger = broker.counters, broker.ledger
        connected = len(broker.attached)
        self._most_clients = max(self._most_clients, connected)
        absent = len(broker.sessions) - connected
        queued = sum(len(s.queue) for s in broker.sessions.values() if s.queue)
        return [
            BrokerFigure("clients/connected", "clients_connected", connected, False),
            BrokerFigure("clients/disconnected", "clients_disconnected", absent, False),
            BrokerFigure("clients/total", "sessions", len(broker.sessions), False),
            BrokerFigure("clients/maximum", "clients_maximum", self._most_clients, False),
            BrokerFigure("clients/expired", "sessions_expired", counters.sessions_expired),
            BrokerFigure("connections/open", "connections_open", counters.connections, False),
            BrokerFigure("connections/total", "connections", counters.connections_total),
            BrokerFigure(
                "connections/refused", "connections_refused", counters.connections_refused
            ),
            BrokerFigure("connections/violations", "violations", counters.violations),
            BrokerFigure("connections/slowed", "slowed", counters.slowed),
            BrokerFigure("connections/overfull", "overfull", counters.overfull),
            BrokerFigure("subscriptions/count", "subscriptions", len(broker.matching), False),
            BrokerFigure("subscriptions/bytes", "subscription_bytes", ledger.subscriptions, False),
            BrokerFigure("retained messages/count", "retained", len(broker.retained), False),
            BrokerFigure("retained messages/bytes", "retained_bytes", broker.retained.size, False),
            BrokerFigure("retained messages/refused", "retained_refused", counters.unretained),
            BrokerFigure("store/messages/count", "queued", queued, False),
            BrokerFigure("store/messages/bytes", "queued_bytes", ledger.messages, False),
            BrokerFigure("store/disk/bytes", "store_bytes", broker.journal.size(), False),
            BrokerFigure("messages/received", "messages_received", counters.received),
            BrokerFigure("messages/sent", "messages_sent", counters.sent),
            BrokerFigure("publish/messages/dropped", "messages_dropped", counters.dropped),
            BrokerFigure("publish/messages/expired", "messages_expired", counters.expired),
            BrokerFigure("publish/messages/refused", "messages_refused", counters.refused),
            BrokerFigure(
                "publish/messages/unread locations", "unread_locations", counters.unread_locations
            ),
            BrokerFigure("locations/received", "locations", counters.located),
            BrokerFigure("locations/implausible", "implausible", counters.implausible),
            BrokerFigure("bytes/received", "bytes_received", counters.bytes_received),
            BrokerFigure("bytes/sent", "bytes_sent", counters.bytes_sent),
            BrokerFigure("federation/received", "federation_received", counters.remote_received),
            BrokerFigure("federation/sent", "federation_sent", counters.remote_sent),
        ]

    def topics(self, now: float) -> Iterator[tuple[str, str]]:
        """The `$SYS` topics and their texts."""
        counters = self._broker.counters
        yield PREFIX + "version", f"zonal {__version__}"
        yield PREFIX + "uptime", f"{int(now - counters.started_at)} seconds"
        for figure in self.all():
            yield PREFIX + figure.topic, str(figure.value)
        counts = {
            "messages/received": counters.received,
            "messages/sent": counters.sent,
            "publish/dropped": counters.dropped,
            "bytes/received": counters.bytes_received,
            "bytes/sent": counters.bytes_sent,
            "connections": counters.connections_total,
        }
        for name, text in self._loads.update(counts, now):
            yield PREFIX + name, text

    def exposition(self, now: float) -> str:
        """All figures in Prometheus' text format."""
        up = now - self._broker.counters.started_at
        told = [("uptime_seconds", "gauge", "Since it started.", round(up))]
        for each in self.all():
            kind = "counter" if each.grows else "gauge"
            told.append((each.name, kind, f"$SYS/broker/{each.topic}.", each.value))
        return figures_of("zonal_broker", told)

    def status(self, now: float) -> dict[str, Any]:
        """Figures and clients, those with the longest queues first."""
        sessions = sorted(
            self._broker.sessions.values(), key=lambda each: (-len(each.queue), each.client_id)
        )
        return {
            "version": __version__,
            "uptime_s": round(now - self._broker.counters.started_at),
            "figures": {figure.topic: figure.value for figure in self.all()},
            "clients": [
                {
                    "client": session.client_id,
                    "user": session.user_name,
                    "address": session.connection.peer.address if session.connection else None,
                    "location": (
                        None
                        if session.location is None
                        else [session.location.lat, session.location.lon]
                    ),
                    "subscriptions": len(session.subscriptions),
                    "queued": len(session.queue),
                    "under_way": len(session.inflight),
                    "bytes": session.held,
                }
                for session in sessions[:MOST_CLIENTS]
            ],
        }

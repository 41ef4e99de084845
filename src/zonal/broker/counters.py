"""What a broker counts about itself, and the `$SYS` topics that show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class BrokerCounters:
    """Running counts since the start."""

    started_at: float = 0.0
    received: int = 0
    sent: int = 0
    dropped: int = 0
    """Messages a session should have had: queue full, backlog full, or larger than it takes."""
    expired: int = 0
    refused: int = 0
    """Publications not accepted: not authorized, or with bad geometry."""
    bytes_received: int = 0
    bytes_sent: int = 0
    subscribed: int = 0
    """Topic filters in SUBSCRIBE."""
    located: int = 0
    """Places that clients moved to."""
    slowed: int = 0
    """Times a client had to wait because it went faster than its rates allow."""
    unretained: int = 0
    """Retained messages for which there was no room."""
    overfull: int = 0
    """Connections closed because all of them together held too many bytes."""
    connections: int = 0
    connections_total: int = 0
    violations: int = 0
    """Connections closed because the client broke the protocol."""
    remote_received: int = 0
    """Messages from other brokers and Zenoh clients."""
    remote_sent: int = 0

    def topics(self, now: float, *, sessions: int, subscriptions: int, retained: int,
               version: str) -> Iterator[tuple[str, str]]:  # fmt: skip
        """The `$SYS` topics, named as Mosquitto names them where it has the same figure."""
        prefix = "$SYS/broker/"
        yield prefix + "version", f"zonal {version}"
        yield prefix + "uptime", f"{int(now - self.started_at)} seconds"
        yield prefix + "clients/connected", str(self.connections)
        yield prefix + "clients/disconnected", str(max(0, sessions - self.connections))
        yield prefix + "clients/total", str(sessions)
        yield prefix + "connections/total", str(self.connections_total)
        yield prefix + "connections/violations", str(self.violations)
        yield prefix + "subscriptions/count", str(subscriptions)
        yield prefix + "retained messages/count", str(retained)
        yield prefix + "messages/received", str(self.received)
        yield prefix + "messages/sent", str(self.sent)
        yield prefix + "publish/messages/dropped", str(self.dropped)
        yield prefix + "publish/messages/expired", str(self.expired)
        yield prefix + "publish/messages/refused", str(self.refused)
        yield prefix + "bytes/received", str(self.bytes_received)
        yield prefix + "bytes/sent", str(self.bytes_sent)
        yield prefix + "federation/received", str(self.remote_received)
        yield prefix + "federation/sent", str(self.remote_sent)

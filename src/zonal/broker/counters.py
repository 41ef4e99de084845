"""What a broker counts about itself."""

from __future__ import annotations

from dataclasses import dataclass


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
    unread_locations: int = 0
    """Properties `location`, and payloads with a rule, that said no place and were passed on."""
    bytes_received: int = 0
    bytes_sent: int = 0
    subscribed: int = 0
    """Topic filters in SUBSCRIBE."""
    located: int = 0
    implausible: int = 0
    """Positions that clients cannot have come to."""
    """Places that clients moved to."""
    slowed: int = 0
    """Times a client had to wait because it went faster than its rates allow."""
    unretained: int = 0
    """Retained messages for which there was no room."""
    overfull: int = 0
    """Connections closed because all of them together held too many bytes."""
    connections: int = 0
    connections_total: int = 0
    connections_refused: int = 0
    """Connections that were answered but not let in."""
    sessions_expired: int = 0
    violations: int = 0
    """Connections closed because the client broke the protocol."""
    remote_received: int = 0
    """Messages from other brokers and Zenoh clients."""
    remote_sent: int = 0

"""What a node counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class NodeCounters:
    """What a node did and refused, in packets and publications."""

    beacons: int = 0
    """Sent."""
    control: int = 0
    """Packets of the routing layer that it sent."""
    forwarded: int = 0
    """Hops that it sent publications over, repetitions aside."""
    delivered: int = 0
    """Publications that it handed to the application."""
    duplicates: int = 0
    """Publications that it wants and had already."""
    acks: int = 0
    """Acknowledgements that it sent."""
    repeats: int = 0
    """Hops that it tried again, because no acknowledgement came."""
    given_up: int = 0
    """Publications that had no way on, nor room to wait."""
    anew: int = 0
    """Publications that waited for the ring and went around anew."""
    refused: int = 0
    """Datagrams that are no packet."""
    strangers: int = 0
    """Packets from nodes that it has no link with."""
    expired: int = 0
    """Publications that were forwarded too often."""
    homeless: int = 0
    """Own publications for which it found no place in time."""

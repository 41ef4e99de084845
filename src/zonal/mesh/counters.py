"""What a node counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class NodeCounters:
    """What a node sent, in packets, and what became of publications.

    `control` are packets of its routing layer, `repeats` hops that it tried again for want of
    an acknowledgement, `anew` publications that waited for the ring and went around once more.
    It dropped what is `refused` (no packet), from `strangers` (no link with them), `expired`
    (forwarded too often), `given_up` (no way on, nor room to wait) and `homeless` (its own,
    while it had no place).
    """

    beacons: int = 0
    control: int = 0
    forwarded: int = 0
    delivered: int = 0
    duplicates: int = 0
    acks: int = 0
    repeats: int = 0
    anew: int = 0
    refused: int = 0
    strangers: int = 0
    expired: int = 0
    given_up: int = 0
    homeless: int = 0

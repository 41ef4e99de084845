"""How fast a client, or all clients of a user, may go: token buckets of one second's worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from zonal.broker.counters import BrokerCounters
    from zonal.broker.settings import Rates


class Use(NamedTuple):
    """What has been used so far."""

    messages: int = 0
    bytes: int = 0
    subscriptions: int = 0
    locations: int = 0

    @classmethod
    def of(cls, counters: BrokerCounters) -> Use:
        """What all clients have used; the difference of two such is what one did in between."""
        return cls(
            counters.received, counters.bytes_received, counters.subscribed, counters.located
        )


class Allowance:
    """What is left of each rate; it may go below zero, and then has to be waited for."""

    __slots__ = ("_at", "_left", "_rates")

    def __init__(self, rates: Rates, now: float) -> None:
        self._rates = (rates.messages, rates.bytes, rates.subscriptions, rates.locations)
        self._left = list(self._rates)
        self._at = now

    def spend(self, before: Use, after: Use, now: float) -> float:
        """Takes what was used in between; how many seconds to wait before more is used."""
        passed = max(0.0, now - self._at)
        self._at = now
        wait = 0.0
        for index, rate in enumerate(self._rates):
            if rate:
                left = min(rate, self._left[index] + passed * rate)
                self._left[index] = left = left - (after[index] - before[index])
                wait = max(wait, -left / rate)
        return wait

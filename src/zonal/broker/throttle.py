"""Wrong passwords and broken connections, counted: whoever has too many has to wait."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

OF_ADDRESS, OF_USER = 10, 50
"""Wrong passwords that an address and a user name have in hand."""
RECOVERY = 2.0
"""Seconds until one more is."""
BROKEN, MENDED = 10, 0.5
"""Connections that an address may break the protocol on, and seconds until there is one more."""
PAUSE, LONGEST_PAUSE = 0.02, 0.5
"""Seconds that its next ones wait for each one beyond these, and at most."""
REMEMBERED = 50_000
"""Addresses and user names of which something is remembered."""


class Fading:
    """Counts that fade by one each `recovery` seconds; time passes when it is told."""

    def __init__(self, recovery: float) -> None:
        self._recovery = recovery
        self._counts: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._counts)

    def of(self, key: Hashable, now: float) -> float:
        """What is left of a count now."""
        count, at = self._counts.get(key, (0.0, now))
        return max(0.0, count - max(0.0, now - at) / self._recovery)

    def add(self, key: Hashable, now: float) -> None:
        """One more."""
        self._counts[key] = (self.of(key, now) + 1, now)
        self._counts.move_to_end(key)  # what was seen last is remembered longest
        while len(self._counts) > REMEMBERED:
            self._counts.popitem(last=False)


class BrokenConnections:
    """Connections on which an address broke the protocol: its next ones wait before they are read.

    Connections that are there do not wait, and the first ones of an address do not either.
    """

    def __init__(self) -> None:
        self._broken = Fading(MENDED)

    def count(self, address: str, now: float) -> None:
        """One more was closed."""
        self._broken.add(neighbourhood(address), now)

    def pause(self, address: str, now: float) -> float:
        """Seconds that a new connection waits."""
        if not self._broken:
            return 0.0
        broken = self._broken.of(neighbourhood(address), now)
        return min(LONGEST_PAUSE, PAUSE * max(0.0, broken - BROKEN))


class Throttle:
    """Counts wrong passwords by address and user name; time passes when it is told."""

    def __init__(self) -> None:
        self._wrong = Fading(RECOVERY)

    def wrong(self, key: tuple[str, str], now: float) -> float:
        """How many wrong passwords count against an address or a name now."""
        return self._wrong.of(key, now)

    def count(self, address: str, name: str, now: float) -> None:
        """A wrong password came."""
        for key in (("address", address), ("name", name)):
            self._wrong.add(key, now)

    def allows(self, address: str, name: str, now: float) -> bool:
        """Whether another try is looked at."""
        return (
            self.wrong(("address", address), now) <= OF_ADDRESS - 1
            and self.wrong(("name", name), now) <= OF_USER - 1
        )


def neighbourhood(address: str) -> str:
    """What counts as one address: an IPv4 address, or the 64-bit network of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)

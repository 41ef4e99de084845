"""Wrong passwords, counted: addresses and users with too many have to wait."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict

OF_ADDRESS, OF_USER = 10, 50
"""Wrong passwords that an address and a user name have in hand."""
RECOVERY = 2.0
"""Seconds until one more is."""
REMEMBERED = 50_000
"""Addresses and user names whose wrong passwords are remembered."""


class Throttle:
    """Counts wrong passwords by address and user name; time passes when it is told."""

    def __init__(self) -> None:
        self._wrong: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def wrong(self, key: tuple[str, str], now: float) -> float:
        """How many wrong passwords count against an address or a name now."""
        count, at = self._wrong.get(key, (0.0, now))
        return max(0.0, count - max(0.0, now - at) / RECOVERY)

    def count(self, address: str, name: str, now: float) -> None:
        """A wrong password came."""
        for key in (("address", address), ("name", name)):
            count = self.wrong(key, now) + 1
            self._wrong[key] = (count, now)
            self._wrong.move_to_end(key)  # what was seen last is remembered longest
        while len(self._wrong) > REMEMBERED:
            self._wrong.popitem(last=False)

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

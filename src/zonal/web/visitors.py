"""What each address has open and asks for: nobody takes so much that others get nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager
from functools import lru_cache
from ipaddress import IPv6Network
from typing import TYPE_CHECKING

from zonal.web.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from starlette.types import Scope

    from zonal.web.options import WebLimits

_LATER = ((b"retry-after", b"1"), (b"connection", b"close"))
_BYTES_A_REQUEST = 256
"""So many bytes of a query string cost as much as a request: reading long shapes takes time."""
CONNECTION_COST, HANDSHAKE_COST = 1.0, 5.0
"""Requests that a connection, and one over TLS, costs as much as."""


def cost_of(query: bytes) -> float:
    """How many requests a request with this query string costs as much as."""
    return 1.0 + len(query) / _BYTES_A_REQUEST


class Visitor:
    """One address: its connections, streams and questions, and its allowance of requests."""

    __slots__ = ("_allowance", "_asked_at", "_limits", "held", "name", "selections", "turn")

    def __init__(self, name: str, limits: WebLimits, now: float) -> None:
        self.name = name
        self._limits = limits
        self._allowance = limits.burst_of_requests
        self._asked_at = now
        self.held: Counter[str] = Counter()
        self.selections: Counter[Hashable] = Counter()
        """What its streams select."""
        self.turn = asyncio.Lock()
        """One declaration at a time: others wait behind one of each address, not behind all."""

    def is_idle(self, now: float) -> bool:
        """Whether it can be forgotten: it has nothing open, and all of its allowance."""
        self._earn(now)
        open_here = any(self.held.values()) or self.selections
        return not open_here and self._allowance >= self._limits.burst_of_requests

    def pay(self, cost: float, now: float, *, and_keep: float = 0.0) -> None:
        """Take what so many requests cost from the allowance, and leave so much, or refuse."""
        if not self._limits.requests_per_second:
            return
        self._earn(now)
        if self._allowance < cost + and_keep:
            rate = self._limits.requests_per_second
            raise Problem(429, f"more than {rate:g} requests a second from {self.name}", _LATER)
        self._allowance -= cost

    def _earn(self, now: float) -> None:
        earned = (now - self._asked_at) * self._limits.requests_per_second
        self._allowance = min(self._limits.burst_of_requests, self._allowance + earned)
        self._asked_at = now

    @contextmanager
    def holding(self, what: str, most: int) -> Iterator[None]:
        """Have one more of something open for as long as the block runs, or be refused."""
        if self.held[what] >= most:
            raise Problem(429, f"{most} {what} of {self.name} are open; that is the most", _LATER)
        self.held[what] += 1
        try:
            yield
        finally:
            self.held[what] -= 1

    @contextmanager
    def selecting(self, selection: Hashable) -> Iterator[None]:
        """Have a stream of this selection; different ones are counted."""
        most = self._limits.selections_per_address
        if selection not in self.selections and len(self.selections) >= most:
            raise Problem(429, f"{most} different selections of {self.name} are open", _LATER)
        self.selections[selection] += 1
        try:
            yield
        finally:
            self.selections[selection] -= 1
            if not self.selections[selection]:
                del self.selections[selection]


class Visitors:
    """All addresses that have something open, or asked lately.

    Of IPv6 the first 64 bits count: a household has all of the rest. Behind a trusted proxy it is
    the address that the proxy tells in `X-Forwarded-For`.
    """

    def __init__(self, limits: WebLimits, proxies: tuple[str, ...] = ()) -> None:
        self._limits = limits
        self._proxies = frozenset(map(address_of, proxies))
        self._visitors: dict[str, Visitor] = {}

    def __len__(self) -> int:
        return len(self._visitors)

    def at(self, host: str, now: float) -> Visitor:
        """Whoever is at this address."""
        name = address_of(host)
        visitor = self._visitors.get(name)
        if visitor is None:
            visitor = self._visitors[name] = Visitor(name, self._limits, now)
        return visitor

    def of(self, scope: Scope, headers: Mapping[bytes, bytes], now: float) -> Visitor:
        """Whoever sent a request."""
        host = (scope.get("client") or ("unknown", 0))[0]
        if self._proxies and address_of(host) in self._proxies:
            told = headers.get(b"x-forwarded-for", b"").decode("latin-1")
            host = told.rpartition(",")[2].strip() or host
        return self.at(host, now)

    def is_proxy(self, host: str) -> bool:
        """Whether an address stands for many others: its connections are not counted."""
        return address_of(host) in self._proxies

    def forget(self, now: float) -> None:
        """Drop those who have nothing open and asked for nothing lately."""
        for name, visitor in list(self._visitors.items()):
            if visitor.is_idle(now):
                del self._visitors[name]


@lru_cache(4_096)
def address_of(host: str) -> str:
    """An address as it is counted."""
    if ":" not in host:
        return host[:64]
    try:
        network = IPv6Network((host.partition("%")[0], 64), strict=False)
    except ValueError:
        return host[:64]
    mapped = IPv6Network((host.partition("%")[0], 128)).network_address.ipv4_mapped
    return str(network if mapped is None else mapped)

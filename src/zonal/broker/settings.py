"""What a broker allows its clients, and how it behaves: plain values, no files read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from zonal.broker.location_rules import LocationRules
from zonal.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from zonal.geo import GivenArea
    from zonal.trust import TrustedIssuers

MIB = 1024 * 1024
NEVER = 0xFFFFFFFF
"""The session expiry interval that means "never" (MQTT 5, 3.1.2.11.2)."""


@dataclass(frozen=True, slots=True)
class Rates:
    """The most of each a second; 0: any. Who is faster is read more slowly, and loses nothing."""

    messages: float = 0
    bytes: float = 0
    subscriptions: float = 0
    locations: float = 0

    @property
    def are_limited(self) -> bool:
        """Whether any of them is."""
        return any((self.messages, self.bytes, self.subscriptions, self.locations))


@dataclass(frozen=True, slots=True)
class Limits:
    """What clients may use; beyond it they are refused, sent away, or messages are dropped."""

    maximum_qos: int = 2
    retain_available: bool = True
    maximum_packet_size: int = 8 * MIB
    connect_packet_size: int = 128 * 1024
    """Bytes of a packet before CONNECT was accepted."""
    connect_timeout: float = 10.0
    """Seconds from the connection until CONNECT is accepted."""
    receive_maximum: int = 256
    """QoS 2 messages that a client has sent and not yet released."""
    topic_alias_maximum: int = 32
    maximum_connections: int = 20_000
    maximum_sessions: int = 200_000
    maximum_subscriptions: int = 10_000
    """Of one session."""
    maximum_queued: int = 10_000
    """Messages of QoS 1 and 2 waiting for one session; further ones are dropped and counted."""
    maximum_inflight: int = 1_000
    """Messages of QoS 1 and 2 under way to one client, where it asks for no fewer."""
    session_bytes: int = 64 * MIB
    """Messages waiting for one session or under way to it, and its subscriptions."""
    queued_bytes: int = 1024 * MIB
    """Messages waiting for all sessions, each counted once; further ones are dropped."""
    subscription_bytes: int = 512 * MIB
    """Subscriptions of all sessions, with their geofences; further ones are refused."""
    maximum_retained: int = 200_000
    retained_bytes: int = 512 * MIB
    """Retained messages; further ones are refused."""
    store_bytes: int = 8 * 1024 * MIB
    """The data directory; beyond it nothing more is kept: subscriptions, retained messages and new
    sessions are refused, messages for absent clients are dropped and counted."""
    maximum_levels: int = 128
    """Of a topic or a topic filter."""
    maximum_vertices: int = 1_000
    """Of one geofence."""
    backlog: int = 4 * MIB
    """Unsent bytes of one connection; beyond it QoS 0 is dropped and QoS 1 and 2 wait."""
    unread_answers: int = MIB
    """Unsent bytes beyond the backlog, which can only be answers: the client is not read until it
    reads."""
    buffers: int = 512 * MIB
    """Bytes of all connections that are unsent or of unfinished packets; beyond it those who hold
    the most are closed."""
    client_rates: Rates = Rates()
    user_rates: Rates = Rates()
    """Of all clients of one user together."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a broker behaves."""

    limits: Limits = Limits()
    keep_alive: int | None = None
    """The longest keep-alive a client may use, in seconds; a longer one (or none) is replaced."""
    session_expiry: int = NEVER
    """The longest session expiry interval, in seconds."""
    drop_oldest: bool = False
    """Whether a full queue loses its oldest message; by default the new one is dropped."""
    queue_qos_0: bool = False
    """Whether messages of QoS 0 wait for absent clients too."""
    sys_interval: float = 10.0
    """Seconds between `$SYS` figures; 0 switches them off."""
    busy_poll_us: float = 200.0
    """Microseconds for which the broker looks for more bytes at most before it sleeps, while some
    come as it looks; 0: it sleeps at once."""
    geo: bool = True
    """Off: user properties are never read, and the broker is an ordinary one."""
    zones: Mapping[str, GivenArea] = field(default_factory=dict)
    """The areas that `$geo/zone:<name>/…` speaks of."""
    locations: LocationRules = field(default_factory=LocationRules)
    """How payloads say places."""
    issuers: TrustedIssuers | None = None
    """Whose attested positions count; None: nobody's."""
    strict: bool = False
    """Refuse messages and connections whose `location` is none; else it is passed on unread."""


UNITS = {"": 1, "KiB": 1024, "MiB": MIB, "GiB": 1024 * MIB}
WRITTEN = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>KiB|MiB|GiB|)")


def read_limits(written: Iterable[str], others: Limits | None = None) -> Limits:
    """Limits from `name=value`: numbers, perhaps with KiB, MiB or GiB; `yes` and `no`.

    Rates have a dot: `client_rates.messages=100`. What is not written is as in the others.
    """
    others = others or Limits()
    changed: dict[str, Any] = {}
    for each in written:
        name, equals, text = each.partition("=")
        name, part = name.strip().replace("-", "_").partition(".")[::2]
        known = getattr(others, name, None) if equals else None
        if isinstance(known, Rates) and hasattr(known, part):
            rates = changed.get(name, known)
            changed[name] = replace(rates, **{part: float(_value(each, text, 0.0))})
        elif known is None or isinstance(known, Rates) or part:
            names = ", ".join(sorted(f.name for f in fields(Limits)))
            raise ConfigurationError(f"{each!r} sets no limit; these can be set: {names}")
        else:
            changed[name] = _value(each, text, known)
    return replace(others, **changed)


def _value(written: str, text: str, known: float | bool) -> float | bool:
    """A value of the same kind as the one it replaces."""
    text = text.strip()
    if isinstance(known, bool):
        if text in {"yes", "no"}:
            return text == "yes"
        raise ConfigurationError(f"{written!r}: the value must be yes or no")
    found = WRITTEN.fullmatch(text)
    if found is None:
        raise ConfigurationError(f"{written!r}: the value must be a number, as in 100 or 8MiB")
    return type(known)(float(found["number"]) * UNITS[found["unit"]])

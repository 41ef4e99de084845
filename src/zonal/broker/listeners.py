"""Listeners: where a broker is reached, and by whom, from what the operator wrote."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from zonal.broker.access import Access, OpenAccess
from zonal.broker.credentials import Credentials, read_passwords
from zonal.broker.settings import Limits, read_limits
from zonal.errors import BrokerError
from zonal.runtime import is_loopback
from zonal.trust import read_rules

if TYPE_CHECKING:
    from collections.abc import Hashable

KINDS = ("mqtt", "mqtts", "ws", "wss")
WRITTEN = re.compile(
    rf"(?P<place>(?P<kind>{'|'.join(KINDS)})://"
    r"(?P<host>\[[0-9a-f:.]+\]|[^:/?\[\]]+):(?P<port>\d+))/?(\?(?P<own>.*))?"
)
FILES = ("certificate", "key", "client_ca", "passwords", "rules")
OF_A_LISTENER = frozenset({
    "maximum_qos", "retain_available", "maximum_packet_size", "connect_packet_size",
    "connect_timeout", "receive_maximum", "topic_alias_maximum", "maximum_connections",
    "maximum_subscriptions", "maximum_inflight", "backlog", "unread_answers", "client_rates",
    "user_rates",
})  # fmt: skip
"""The limits that are a connection's or a client's; the others are the whole broker's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MqttListener:
    """A listener, with the files that say whom it lets in, and its limits."""

    name: str = ""
    kind: str = "mqtt"
    host: str = "127.0.0.1"
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None
    passwords: Path | None = None
    rules: Path | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def is_encrypted(self) -> bool:
        """Whether it needs a certificate."""
        return self.kind in {"mqtts", "wss"}

    @property
    def is_websocket(self) -> bool:
        """Whether MQTT comes in frames of WebSocket."""
        return self.kind in {"ws", "wss"}

    @property
    def is_secured(self) -> bool:
        """Whether clients have to prove who they are."""
        return self.passwords is not None or self.client_ca is not None

    @property
    def whom(self) -> Hashable:
        """What decides who is let in: equal where the same are."""
        return self.passwords, self.client_ca is not None, self.rules

    def check(self, *, insecure: bool) -> None:
        """Refuses what would be unsafe or cannot work, before anything is opened."""
        if not (self.is_secured or insecure or is_loopback(self.host)):
            raise BrokerError(
                f"without a password file or client certificates only loopback is served, "
                f"not {self.host}; insecure lets anybody in"
            )
        if self.is_encrypted and (self.certificate is None or self.key is None):
            raise BrokerError("TLS needs a certificate and its key")


def read_listener(written: str, others: MqttListener) -> MqttListener:
    """A listener as it is written: `mqtts://0.0.0.0:8883?passwords=users&limit=maximum_qos=1`.

    What it does not say is as with the others; a file that is empty (`passwords=`) is none.
    """
    matched = WRITTEN.fullmatch(written)
    if matched is None:
        raise BrokerError(
            f"{written!r} is no listener such as mqtts://0.0.0.0:8883; there are {', '.join(KINDS)}"
        )
    changed: dict[str, Any] = {}
    limits = []
    for name, value in parse_qsl(matched["own"] or "", keep_blank_values=True):
        if name == "limit":
            limits.append(_own_limit(written, value))
        elif name.replace("-", "_") in FILES:
            changed[name.replace("-", "_")] = Path(value) if value else None
        else:
            known = ", ".join([*FILES, "limit"])
            raise BrokerError(f"listener {written!r}: {name!r} is not one of {known}")
    return replace(
        others,
        name=matched["place"],
        kind=matched["kind"],
        host=matched["host"].strip("[]"),
        port=int(matched["port"]),
        limits=read_limits(limits, others.limits),
        **changed,
    )


def _own_limit(written: str, limit: str) -> str:
    name = limit.partition("=")[0].partition(".")[0].strip().replace("-", "_")
    if name in OF_A_LISTENER:
        return limit
    own = ", ".join(sorted(OF_A_LISTENER))
    raise BrokerError(f"listener {written!r}: {name!r} is no limit of a listener; these are: {own}")


def access(listener: MqttListener) -> Access:
    """Who is let in, and may do what."""
    rules = None if listener.rules is None else read_rules(listener.rules)
    if not listener.is_secured:
        if rules is not None and not rules.knows_anonymous:
            raise BrokerError(
                f"{listener.rules} allows nothing to those without a name, and without a password "
                "file or a client CA nobody has one"
            )
        return OpenAccess(rules)
    return Credentials(
        {} if listener.passwords is None else read_passwords(listener.passwords),
        rules,
        certificates=listener.client_ca is not None,
    )


def tls_context(listener: MqttListener) -> ssl.SSLContext:
    """TLS 1.2 or newer; client certificates are asked for where a CA can verify them."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    assert listener.certificate is not None
    try:
        context.load_cert_chain(listener.certificate, listener.key)
        if listener.client_ca is not None:
            context.load_verify_locations(listener.client_ca)
    except (OSError, ssl.SSLError) as error:
        raise BrokerError(f"the TLS certificate, key or CA cannot be used: {error}") from error
    if listener.client_ca is not None:
        # Without a password file a certificate is the only way in.
        required = listener.passwords is None
        context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
    return context

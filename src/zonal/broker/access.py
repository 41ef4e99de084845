"""Who may connect, publish and subscribe: password files, certificates, rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from zonal.broker.topics import covers, matches

if TYPE_CHECKING:
    from zonal.broker.scram import ScramExchange


class RemoteEnd(NamedTuple):
    """Who is at the other end of a connection, as far as the transport knows."""

    address: str = ""
    certificate_name: str | None = None
    """The common name of a client certificate that the TLS layer verified."""


@dataclass(frozen=True, slots=True)
class User:
    """A known user and the topic filters it may publish to and subscribe to."""

    name: str | None = None
    publish: tuple[str, ...] = ("#",)
    subscribe: tuple[str, ...] = ("#",)
    unlimited: bool = False
    """Whether no rule was written for it, and none needs to be looked at."""

    def may_publish(self, topic: str, client_id: str) -> bool:
        """Whether a rule allows this topic."""
        return self.unlimited or any(
            matches(fill(rule, self.name, client_id), topic) for rule in self.publish
        )

    def may_subscribe(self, topic_filter: str, client_id: str) -> bool:
        """Whether a rule covers everything that this filter can match."""
        return self.unlimited or any(
            covers(fill(rule, self.name, client_id), topic_filter)
            and not (topic_filter.startswith("$") and rule[:1] in {"#", "+"})
            for rule in self.subscribe
        )


def fill(rule: str, user_name: str | None, client_id: str) -> str:
    """A rule with `%u` (user) and `%c` (client identifier) replaced by their names.

    It is empty, and allows nothing, where a name is missing or would widen the rule: one with a
    wildcard or a level separator.
    """
    if "%" not in rule:
        return rule
    for mark, value in (("%u", user_name or ""), ("%c", client_id)):
        if mark in rule:
            if not value or any(sign in value for sign in "+#/"):
                return ""
            rule = rule.replace(mark, value)
    return rule


ANYONE = User(unlimited=True)


class Access(Protocol):
    """Decides who is let in."""

    def recall(self, user_name: str | None, password: bytes | None, peer: RemoteEnd) -> User | None:
        """The user whom no slow check has to prove; None where `check` has to."""

    def check(self, user_name: str | None, password: bytes | None, peer: RemoteEnd) -> User | None:
        """The user these credentials prove, or None. May take long: never in the event loop."""

    def exchange(self) -> ScramExchange | None:
        """A new SCRAM exchange; None where none is offered."""

    def user(self, name: str | None) -> User | None:
        """A user by name, without proof: for what a session left behind."""


class OpenAccess:
    """Lets anyone in, with no rules."""

    def recall(
        self, _user_name: str | None, _password: bytes | None, _peer: RemoteEnd
    ) -> User | None:
        """Anyone."""
        return ANYONE

    check = recall

    def exchange(self) -> None:
        """No credentials, no proof."""

    def user(self, _name: str | None) -> User | None:
        """Anyone."""
        return ANYONE

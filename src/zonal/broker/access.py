"""Who may connect, publish and subscribe: password files, certificates, rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from zonal.trust import HearingVerdict

if TYPE_CHECKING:
    from zonal.broker.scram import ScramExchange
    from zonal.geo import Area, Point
    from zonal.trust import Rules, Verdict


class RemoteEnd(NamedTuple):
    """Who is at the other end of a connection, as far as the transport knows."""

    address: str = ""
    certificate_name: str | None = None
    """The common name of a client certificate that the TLS layer verified."""


_FREE = HearingVerdict(allowed=True, rule="", reason="")


@dataclass(frozen=True, slots=True)
class User:
    """A known user, or somebody without a name, and the rules that it is held to."""

    name: str | None = None
    rules: Rules | None = None
    """None: everything is allowed, and nothing needs to be looked at."""

    def may_publish(
        self, topic: str, client_id: str, place: Point | None = None, fence: Area | None = None,
        position: Point | None = None,
    ) -> Verdict:  # fmt: skip
        """Whether rules allow this message of a client at a position."""
        if self.rules is None:
            return _FREE
        return self.rules.may_publish(
            self.name, topic, place, fence, position=position, client=client_id
        )

    def may_hear(
        self, topic_filter: str, client_id: str, area: Area | None = None,
        position: Point | None = None,
    ) -> HearingVerdict:  # fmt: skip
        """Whether rules allow this subscription, and what of its area."""
        if self.rules is None:
            return replace(_FREE, area=area)
        return self.rules.may_hear(
            self.name, topic_filter, area, position=position, client=client_id
        )

    def may_receive(
        self, topic: str, client_id: str, place: Point | None = None, position: Point | None = None
    ) -> Verdict:
        """Whether rules allow a client at a position to have a message from a place."""
        if self.rules is None:
            return _FREE
        return self.rules.may_receive(self.name, topic, place, position=position, client=client_id)


class Access(Protocol):
    """Decides who is let in."""

    rules: Rules | None
    """What users may do; None: everything."""

    def recall(self, user_name: str | None, password: bytes | None, peer: RemoteEnd) -> User | None:
        """The user whom no slow check has to prove; None where `check` has to."""

    def check(self, user_name: str | None, password: bytes | None, peer: RemoteEnd) -> User | None:
        """The user these credentials prove, or None. May take long: never in the event loop."""

    def exchange(self) -> ScramExchange | None:
        """A new SCRAM exchange; None where none is offered."""

    def user(self, name: str | None) -> User | None:
        """A user by name, without proof: for what a session left behind."""


class OpenAccess:
    """Lets anyone in; without rules to do everything, with rules what one without a name may."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules

    def recall(
        self, _user_name: str | None, _password: bytes | None, _peer: RemoteEnd
    ) -> User | None:
        """Anyone."""
        return User(rules=self.rules)

    check = recall

    def exchange(self) -> None:
        """No credentials, no proof."""

    def user(self, _name: str | None) -> User | None:
        """Anyone."""
        return User(rules=self.rules)

"""Tells other brokers over Zenoh which shared groups have members here, by liveliness tokens.

A token is `@zonal/share/<group>/<broker>/<1 if a member is connected, else 0>/<mark>`, and goes
with its broker. The mark is `-`, or where brokers have a secret the period in which it was made and
a code: a broker makes its tokens anew for each period, so those of a broker that is gone, declared
again by a stranger, count for nothing after the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import zenoh

from zonal.broker.groups import Groups
from zonal.trust import code_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.broker.core import Broker

PREFIX = "@zonal/share"
PERIOD_S = 300.0
UNMARKED = "-"

Token = tuple[str, str, str, str]
"""Group, broker, state, mark."""


class GroupTokens:
    """One broker's tokens, and those of the others.

    Args:
        broker: whose groups they are.
        session: the plain Zenoh session.
        number: this broker's number.
        in_loop: runs something in the broker's event loop, from any thread.
        secret: what brokers know and others do not; empty: every token counts.
        now: seconds since the epoch.
    """

    def __init__(
        self, broker: Broker, session: zenoh.Session, number: int,
        in_loop: Callable[[Callable[[], None]], None], secret: bytes = b"", now: float = 0.0,
    ) -> None:  # fmt: skip
        self._secret = secret
        self._period = int(now // PERIOD_S)
        self.groups = Groups(number)
        self._broker = broker
        self._session = session
        self._own = f"{number:016x}"
        self._in_loop = in_loop
        self._tokens: dict[str, zenoh.LivelinessToken] = {}
        self._seen: set[Token] = set()
        for client in broker.sessions.values():
            for subscription in client.subscriptions.values():
                self.groups.added(subscription)
        broker.matching.watchers.append(self.groups)
        broker.distributor.groups = self.groups
        self._subscriber = session.liveliness().declare_subscriber(
            f"{PREFIX}/*/*/*/*",
            zenoh.handlers.Callback(self._changed, indirect=False),
            history=True,
        )

    def changes(self, now: float) -> dict[str, bool | None]:
        """What to announce; with a secret, everything at the beginning of a period."""
        changes = self.groups.changes()
        period = int(now // PERIOD_S)
        if self._secret and period != self._period:
            self._period = period
            for name, number in {token[:2] for token in self._seen}:
                self._judge(name, number)
            return {**self.groups.announced, **changes}
        return changes

    def announce(self, changes: dict[str, bool | None]) -> None:
        """Declares what has changed; may block, so not in the event loop."""
        for name, state in changes.items():
            old = self._tokens.pop(name, None)
            if state is not None:
                mark = self._mark(name, self._own, str(int(state)), self._period)
                key = f"{PREFIX}/{name}/{self._own}/{int(state)}/{mark}"
                self._tokens[name] = self._session.liveliness().declare_token(key)
            if old is not None:
                old.undeclare()

    def _mark(self, name: str, number: str, state: str, period: int) -> str:
        if not self._secret:
            return UNMARKED
        code = code_of(self._secret, f"{PREFIX}/{name}/{number}/{state}/{period}".encode())
        return f"{period}-{code.hex()}"

    def _counts(self, token: Token) -> bool:
        """Whether a broker made a token, in this period or next to it."""
        periods = range(self._period - 1, self._period + 2) if self._secret else (self._period,)
        return token[3] in {self._mark(*token[:3], period) for period in periods}

    def _changed(self, sample: zenoh.Sample) -> None:
        parts = str(sample.key_expr).removeprefix(f"{PREFIX}/").split("/")
        if len(parts) == 4 and parts[1] != self._own:
            token = (parts[0], parts[1], parts[2], parts[3])
            is_there = sample.kind == zenoh.SampleKind.PUT
            self._in_loop(lambda: self._learn(token, is_there=is_there))

    def _learn(self, token: Token, *, is_there: bool) -> None:
        """In the event loop: another broker has such a group, or no longer."""
        if not is_there:
            self._seen.discard(token)
        elif self._counts(token):
            self._seen.add(token)
        self._judge(*token[:2])

    def _judge(self, name: str, number: str) -> None:
        """What the tokens of a broker come to for a group."""
        try:
            broker = int(number, 16)
        except ValueError:
            return
        mine = [token for token in self._seen if token[:2] == (name, number)]
        states = {token[2] for token in mine if self._counts(token)}
        known = self.groups.elsewhere.setdefault(name, {})
        if states:
            known[broker] = "1" in states
        else:
            known.pop(broker, None)
        if not known:
            del self.groups.elsewhere[name]

    def close(self) -> None:
        """Leaves the groups of the others to them."""
        self._broker.matching.watchers.remove(self.groups)
        self._broker.distributor.groups = None

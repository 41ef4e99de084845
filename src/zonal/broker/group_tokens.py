"""Tells other brokers over Zenoh which shared groups have members here, by liveliness tokens.

A token is `@zonal/share/<group>/<broker>/<1 if a member is connected, else 0>`, and goes with its
broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import zenoh

from zonal.broker.groups import Groups

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.broker.core import Broker

PREFIX = "@zonal/share"


class GroupTokens:
    """One broker's tokens, and those of the others.

    Args:
        broker: whose groups they are.
        session: the plain Zenoh session.
        number: this broker's number.
        in_loop: runs something in the broker's event loop, from any thread.
    """

    def __init__(
        self, broker: Broker, session: zenoh.Session, number: int,
        in_loop: Callable[[Callable[[], None]], None],
    ) -> None:  # fmt: skip
        self.groups = Groups(number)
        self._broker = broker
        self._session = session
        self._own = f"{number:016x}"
        self._in_loop = in_loop
        self._tokens: dict[str, zenoh.LivelinessToken] = {}
        self._seen: set[tuple[str, str, str]] = set()
        for client in broker.sessions.values():
            for subscription in client.subscriptions.values():
                self.groups.added(subscription)
        broker.matching.watchers.append(self.groups)
        broker.distributor.groups = self.groups
        self._subscriber = session.liveliness().declare_subscriber(
            f"{PREFIX}/*/*/*",
            zenoh.handlers.Callback(self._changed, indirect=False),
            history=True,
        )

    def announce(self, changes: dict[str, bool | None]) -> None:
        """Declares what has changed; may block, so not in the event loop."""
        for name, state in changes.items():
            old = self._tokens.pop(name, None)
            if state is not None:
                key = f"{PREFIX}/{name}/{self._own}/{int(state)}"
                self._tokens[name] = self._session.liveliness().declare_token(key)
            if old is not None:
                old.undeclare()

    def _changed(self, sample: zenoh.Sample) -> None:
        parts = str(sample.key_expr).removeprefix(f"{PREFIX}/").split("/")
        if len(parts) == 3 and parts[1] != self._own:
            is_there = sample.kind == zenoh.SampleKind.PUT
            self._in_loop(lambda: self._learn((parts[0], parts[1], parts[2]), is_there=is_there))

    def _learn(self, token: tuple[str, str, str], *, is_there: bool) -> None:
        """In the event loop: another broker has such a group, or no longer."""
        (self._seen.add if is_there else self._seen.discard)(token)
        name, number, _ = token
        try:
            broker = int(number, 16)
        except ValueError:
            return
        states = {flag for flag in ("0", "1") if (name, number, flag) in self._seen}
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

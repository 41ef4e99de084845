"""What publishers with a memory sent before a subscriber came.

Not Zenoh's advanced subscriber: it takes nothing that has a smaller number or an older time stamp
than what it had of the same source, and anybody can claim a source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import zenoh

from zonal.runtime import keep_state

if TYPE_CHECKING:
    from collections.abc import Callable

_CACHES = "/@adv/**"
_PUBLISHERS = "/@adv/pub/**"
_ANSWER_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class PastMessages:
    """That a subscriber asks publishers for what they remember, also those that come later.

    Without `Recovery` the past and the present come as they arrive, not in order.
    """

    messages: int | None = None
    """Of each publisher on each key so many at most, the newest."""
    age_s: float | None = None
    """Nothing that is older."""

    def __post_init__(self) -> None:
        if self.messages is not None and self.messages < 1:
            raise ValueError(f"a history has at least one message, not {self.messages}")
        if self.age_s is not None and not self.age_s > 0:
            raise ValueError(f"a history is older than 0 seconds, not {self.age_s}")

    @property
    def parameters(self) -> str:
        """What Zenoh's advanced publishers are asked for."""
        wanted = []
        if self.messages is not None:
            wanted.append(f"_max={self.messages}")
        if self.age_s is not None:
            wanted.append(f"_time=[now(-{self.age_s}s)..]")
        return "?" + ";".join(wanted) if wanted else ""


class Memories:
    """The memories of a key's publishers, asked for what they hold; of later ones when they come.

    Whoever listens to the key does so before, or what is sent meanwhile would be missed.
    """

    def __init__(
        self,
        session: zenoh.Session,
        key: str,
        arrive: Callable[[zenoh.Sample], None],
        history: PastMessages,
    ) -> None:
        self._session = session
        self._history = history
        self._arrive = arrive
        self._publishers = session.liveliness().declare_subscriber(
            f"{key}{_PUBLISHERS}", zenoh.handlers.Callback(self._appeared, indirect=False)
        )
        self._ask(f"{key}{_CACHES}")

    def _appeared(self, token: zenoh.Sample) -> None:
        if token.kind == zenoh.SampleKind.PUT:
            self._ask(str(token.key_expr))

    def _ask(self, caches: str) -> None:
        def answer(reply: zenoh.Reply) -> None:
            keep_state()
            if reply.ok is not None:
                self._arrive(reply.ok)

        self._session.get(
            f"{caches}{self._history.parameters}",
            zenoh.handlers.Callback(answer, indirect=False),
            consolidation=zenoh.ConsolidationMode.NONE,
            accept_replies=zenoh.ReplyKeyExpr.ANY,
            target=zenoh.QueryTarget.ALL,
            timeout=_ANSWER_WITHIN_S,
        )

    def undeclare(self) -> None:
        """Ask no more."""
        self._publishers.undeclare()

"""What publishers with a memory sent before a subscriber came.

Not Zenoh's advanced subscriber: it takes nothing that has a smaller number or an older time stamp
than what it had of the same source, and anybody can claim a source.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import zenoh

from zonal.session.historian import MEMORIES, Remembered, Search

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.session.historian import Historian

_CACHES = "/@adv/**"
_PUBLISHERS = "/@adv/pub/**"
_OWN = "/@adv/pub/"
_STAMPED = "uhlc"
"""Stands for the number of a publisher whose messages have time stamps only."""
_SMALL, _FEW = 64, 8
"""Publishers that sent fewer messages are asked together, where there are not fewer of them."""
_OF_A_SESSION, _OF_ALL = 4096, 16_384
"""How many messages of one session's memories, and of all, are asked for at once then."""


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

    def time(self, until: str, waited_s: float) -> str:
        """The time that Zenoh's advanced publishers are asked about.

        Its beginning is told by the publisher's clock, and moves with it. What was young enough
        when the memory was found is asked for however long its turn takes to come.
        """
        since = "" if self.age_s is None else f"now(-{self.age_s + waited_s:.6f}s)"
        return f"_time=[{since}..{until}]" if since or until else ""


class Memories:
    """The memories of a key's publishers, asked for what they hold; of later ones when they come.

    Whoever listens to the key does so before, or what is sent meanwhile would be missed. All are
    first asked for their last message alone, which tells who they are.
    """

    def __init__(
        self,
        session: zenoh.Session,
        historian: Historian,
        key: str,
        arrive: Callable[[zenoh.Sample], None],
        history: PastMessages,
    ) -> None:
        self.messages = history.messages
        self.time = history.time
        self.arrive = arrive
        self._key = zenoh.KeyExpr(key)
        self._historian = historian
        self._publishers = session.liveliness().declare_subscriber(
            f"{key}{_PUBLISHERS}", zenoh.handlers.Callback(self._appeared, indirect=False)
        )
        self._search(f"{key}{_CACHES}")

    def _appeared(self, token: zenoh.Sample) -> None:
        if token.kind == zenoh.SampleKind.PUT:
            self._search(str(token.key_expr))

    def _search(self, caches: str) -> None:
        self._historian.search(_MemorySearch(self, caches))

    def found(self, memory: Remembered) -> None:
        """One who remembers something."""
        self._historian.found(self, memory)

    def is_for(self, key: zenoh.KeyExpr) -> bool:
        """Whether messages under this key are listened to."""
        return self._key.intersects(key)

    def undeclare(self) -> None:
        """Ask no more."""
        self._publishers.undeclare()
        self._historian.forget(self)


class _MemorySearch(Search):
    """Hears the last message of each memory.

    An answer from which nobody can be asked further is handed on: it is somebody else's.
    """

    def __init__(self, memories: Memories, caches: str) -> None:
        times = memories.time("", 0.0)
        super().__init__(f"{caches}?" + ";".join(each for each in ("_max=1", times) if each))
        self._memories = memories
        self._caches = caches
        self._small_ones_too = not times
        self._found: set[str] = set()
        self._small: dict[str, Remembered] = {}
        self._of_session: Counter[str] = Counter()

    def take(self, reply: zenoh.Reply) -> None:
        if reply.ok is None:
            self.has_failed = True
            return
        memory = remembered(reply.ok, reply.replier_id)
        if memory is None or not self._memories.is_for(reply.ok.key_expr):
            self._memories.arrive(reply.ok)
        elif memory.cache not in self._found and len(self._found) < MEMORIES:
            self._found.add(memory.cache)
            self._of_session[memory.zenoh_id] += 1
            if self._is_small(memory):
                self._small[memory.cache] = memory
            else:
                self._memories.found(memory)

    def _is_small(self, memory: Remembered) -> bool:
        if memory.last is None or memory.last >= _SMALL:
            return False
        return self._small_ones_too and memory.last < (self._memories.messages or _SMALL)

    def follow(self) -> Search | None:
        """What many small ones hold is asked for together: a question is dear among many keys."""
        small, self._small = self._small, {}
        if len(small) < _FEW:
            for memory in small.values():
                self._memories.found(memory)
            return None
        step = min(
            _SMALL, _OF_A_SESSION // max(self._of_session.values()), _OF_ALL // len(self._found)
        )
        return _Beginnings(self._memories, self._caches, small, max(step, 1))


class _Beginnings(Search):
    """The first messages of many memories, a few numbers of all of them at a time.

    Of which not all came, those are asked alone.
    """

    tries = 1

    def __init__(
        self, memories: Memories, caches: str, small: dict[str, Remembered], step: int,
        first: int = 0, heard: Counter[str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(f"{caches}?_sn={first}..{first + step - 1}")
        self._memories, self._caches, self._small = memories, caches, small
        self._step, self._next = step, first + step
        self._heard: Counter[str] = Counter() if heard is None else heard

    def take(self, reply: zenoh.Reply) -> None:
        if reply.ok is None:
            return
        self._memories.arrive(reply.ok)
        memory = remembered(reply.ok, reply.replier_id)
        if memory is not None and memory.cache in self._small:
            self._heard[memory.cache] += 1

    def follow(self) -> Search | None:
        """The next numbers, or what was left out."""
        if any(memory.last is not None and memory.last >= self._next for memory in self._rest()):
            return _Beginnings(
                self._memories, self._caches, self._small, self._step, self._next, self._heard
            )
        for memory in self._rest():
            self._memories.found(memory)
        return None

    def _rest(self) -> list[Remembered]:
        return [
            memory
            for cache, memory in self._small.items()
            if memory.last is not None and self._heard[cache] <= memory.last
        ]


def remembered(last: zenoh.Sample, replier: zenoh.EntityGlobalId | None) -> Remembered | None:
    """Whose memory an answer comes from; None if it is not the memory of who sent the message."""
    info, stamp = last.source_info, last.timestamp
    if info is not None:
        zenoh_id, entity, number = str(info.source_id.zid), str(info.source_id.eid), info.source_sn
    elif stamp is not None:
        zenoh_id = str(stamp.get_id()) if replier is None else str(replier.zid)
        entity, number = _STAMPED, None
    else:
        return None
    if replier is not None and str(replier.zid) != zenoh_id:
        return None
    cache = f"{last.key_expr}{_OWN}{zenoh_id}/{entity}/**"
    return Remembered(zenoh_id, cache, number, len(last.payload))

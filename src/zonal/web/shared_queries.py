"""Equal queries that come at the same time become one query to the network."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable

T = TypeVar("T")

PATIENCE_S = 0.1
"""How long a query waits for an equal one that is under way; then it is asked beside it."""


class SharedQueries(Generic[T]):
    """Collects equal queries while one of them is under way, and asks the next once for all.

    Nobody gets an answer to a query that was asked before their own, so what a client wrote
    before it asked is in its answer. A client that leaves does not end the query for the others.
    """

    def __init__(self) -> None:
        self._waiting: dict[Hashable, asyncio.Task[T]] = {}
        self._asked: dict[Hashable, asyncio.Task[T]] = {}
        self._tasks: set[asyncio.Task[T]] = set()
        """All that run: the event loop itself would forget them."""

    async def ask(self, query: Hashable, ask: Callable[[], Coroutine[object, object, T]]) -> T:
        """The answer to a query that is asked from now on; errors reach everyone who asked."""
        task = self._waiting.get(query)
        if task is None:
            task = asyncio.create_task(self._run(query, ask, self._asked.get(query)))
            self._waiting[query] = task
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _run(
        self,
        query: Hashable,
        ask: Callable[[], Coroutine[object, object, T]],
        before: asyncio.Task[T] | None,
    ) -> T:
        if before is not None:
            await asyncio.wait((before,), timeout=PATIENCE_S)
        # From here on nobody joins this task; who asks the same now waits for the next.
        task = self._asked[query] = self._waiting.pop(query)
        try:
            return await ask()
        finally:
            if self._asked.get(query) is task:
                del self._asked[query]

"""Equal questions that come at the same time become one question to the network."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable

T = TypeVar("T")

PATIENCE_S = 0.1
"""How long a question waits for the flight before its own; then it is asked at once."""


class Flights(Generic[T]):
    """Collects equal questions while one of them is under way, and asks the next once for all.

    Nobody gets an answer to a question that was asked before their own: whoever comes while one
    is in flight boards the next. So what a client wrote before it asked is in its answer.
    """

    def __init__(self) -> None:
        self._flying: dict[Hashable, asyncio.Task[T]] = {}
        self._boarding: dict[Hashable, asyncio.Task[T]] = {}

    async def join(self, question: Hashable, ask: Callable[[], Coroutine[object, object, T]]) -> T:
        """The answer to a question that is asked from now on."""
        task = self._boarding.get(question)
        if task is None:
            task = asyncio.create_task(self._fly(question, ask, self._flying.get(question)))
            self._boarding[question] = task
        # One who leaves does not take the others' answer along.
        return await asyncio.shield(task)

    async def _fly(
        self,
        question: Hashable,
        ask: Callable[[], Coroutine[object, object, T]],
        before: asyncio.Task[T] | None,
    ) -> T:
        if before is not None:
            await asyncio.wait((before,), timeout=PATIENCE_S)
        task = asyncio.current_task()
        assert task is not None
        # From here on nobody boards; the dictionary forgets us when nobody flies behind us.
        del self._boarding[question]
        self._flying[question] = task
        try:
            return await ask()
        finally:
            if self._flying.get(question) is task:
                del self._flying[question]

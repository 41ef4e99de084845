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
        self._flying: dict[Hashable, asyncio.Task[None]] = {}
        self._boarding: dict[Hashable, list[asyncio.Future[T]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def join(self, question: Hashable, ask: Callable[[], Coroutine[object, object, T]]) -> T:
        """The answer to a question that is asked from now on."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        aboard = self._boarding.get(question)
        if aboard is None:
            self._boarding[question] = [answer]
            # A task of its own: one who leaves does not take the others' answer along.
            task = loop.create_task(self._fly(question, ask, self._flying.get(question)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            aboard.append(answer)
        return await answer

    async def _fly(
        self,
        question: Hashable,
        ask: Callable[[], Coroutine[object, object, T]],
        before: asyncio.Task[None] | None,
    ) -> None:
        if before is not None:
            await asyncio.wait((before,), timeout=PATIENCE_S)
        task = asyncio.current_task()
        assert task is not None
        # From here on nobody boards; the dictionary forgets us when nobody flies behind us.
        aboard = self._boarding.pop(question)
        self._flying[question] = task
        try:
            _give(aboard, await ask())
        except asyncio.CancelledError:
            _cancel(aboard)
            raise
        except Exception as error:  # noqa: BLE001  (theirs who asked)
            _fail(aboard, error)
        finally:
            if self._flying.get(question) is task:
                del self._flying[question]


def _give(aboard: list[asyncio.Future[T]], answer: T) -> None:
    for waiting in aboard:
        if not waiting.done():
            waiting.set_result(answer)


def _fail(aboard: list[asyncio.Future[T]], error: Exception) -> None:
    for waiting in aboard:
        if not waiting.done():
            waiting.set_exception(error)


def _cancel(aboard: list[asyncio.Future[T]]) -> None:
    for waiting in aboard:
        waiting.cancel()

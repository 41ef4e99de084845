"""The one thread of a session that asks publishers' memories, for all edges."""

from __future__ import annotations

import logging
import math
import queue
import threading
import time
from typing import TYPE_CHECKING, Protocol, TypeAlias

import zenoh

from zonal.runtime import keep_state

if TYPE_CHECKING:
    from collections.abc import Sequence

logger = logging.getLogger(__name__)

HEARTBEATS = "/@adv/pub/"
"""Stands in the keys under which Zenoh's advanced publishers tell their last number."""
_ANSWER_WITHIN_S = 5.0


class Question:
    """What memories are asked for."""

    def __init__(self, selector: str) -> None:
        self.selector = selector
        self.has_failed = False

    def take(self, reply: zenoh.Reply) -> zenoh.Sample | None:
        """An answer came; on Zenoh's threads. What the one who asks is to have of it."""
        if reply.ok is None:
            self.has_failed = True
        return reply.ok


Event: TypeAlias = "zenoh.Sample | Question | frozenset[str] | None"
"""An answer or a heartbeat, the end of answers, keys that are declared now, or merely news."""


class Asks(Protocol):
    """One who wants to have messages asked for."""

    def __hash__(self) -> int: ...

    @property
    def ask_at(self) -> float:
        """When there will be something to ask for, on the monotonic clock; infinite: not yet."""

    def take(self, events: Sequence[Event]) -> None:
        """What came for it, in order."""

    def due(self) -> Sequence[Question]:
        """What is to be asked for now."""


class Asker:
    """Asks, and hands over what comes of it; the thread starts with the first who wants that."""

    def __init__(self, session: zenoh.Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._asking: set[Asks] = set()
        self._events: queue.SimpleQueue[tuple[Asks, Event] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    def add(self, one: Asks) -> None:
        """Ask for what this one wants, from now on."""
        with self._lock:
            self._asking.add(one)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="zonal-asker", daemon=True)
                self._thread.start()

    def remove(self, one: Asks) -> None:
        """Ask no more."""
        with self._lock:
            self._asking.discard(one)

    def put(self, one: Asks, event: Event) -> None:
        """Something came for one of them; from any thread."""
        self._events.put((one, event))

    def hear_heartbeats(self, one: Asks, key: str) -> zenoh.Subscriber[None]:
        """Hear the heartbeats of a key's publishers."""

        def arrive(sample: zenoh.Sample) -> None:
            keep_state()
            self._events.put((one, sample))

        handler = zenoh.handlers.Callback(arrive, indirect=False)
        return self._session.declare_subscriber(f"{key}{HEARTBEATS}**", handler)

    def close(self) -> None:
        """End the thread."""
        with self._lock:
            self._closed = True
            thread = self._thread
        self._events.put(None)
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while not self._closed:
            try:
                self._wait()
                for one in self._all():
                    for question in one.due():
                        self.ask(one, question)
            except Exception:  # a thread that dies would end the recovery
                logger.exception("recovery goes on after an error")

    def _all(self) -> tuple[Asks, ...]:
        with self._lock:
            return tuple(self._asking)

    def _wait(self) -> None:
        """Take events until something is to be asked for."""
        until = min((one.ask_at for one in self._all()), default=math.inf)
        rest_s = None if until == math.inf else max(until - time.monotonic(), 0.001)
        try:
            entries = [self._events.get(timeout=rest_s)]
        except queue.Empty:
            return
        while not self._events.empty():
            entries.append(self._events.get())
        events: dict[Asks, list[Event]] = {}
        for entry in entries:
            if entry is not None:
                events.setdefault(entry[0], []).append(entry[1])
        for one, of_one in events.items():
            one.take(of_one)

    def ask(self, one: Asks, question: Question) -> None:
        """Ask now; from any thread. One that cannot be asked has failed."""

        def answer(reply: zenoh.Reply) -> None:
            keep_state()
            sample = question.take(reply)
            if sample is not None:
                self._events.put((one, sample))

        def over() -> None:
            self._events.put((one, question))

        try:
            self._session.get(
                question.selector,
                zenoh.handlers.Callback(answer, over, indirect=False),
                consolidation=zenoh.ConsolidationMode.NONE,
                accept_replies=zenoh.ReplyKeyExpr.ANY,
                target=zenoh.QueryTarget.ALL,
                timeout=_ANSWER_WITHIN_S,
            )
        except zenoh.ZError as error:  # the session is being closed
            logger.debug("could not ask a memory: %s", error)
            question.has_failed = True
            over()

"""What a session declares to the network for the subscribers of one topic, and who gets what.

Declarations belong to the topic, not to a subscriber: subscribers share cells, and every sample
that arrives is read once, checked exactly, and handed to those who want it. New keys are declared
before old ones are undeclared; while both stand, a sample may arrive under both, so messages are
then told apart by their identity.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import zenoh

from zonal.errors import AttachmentError
from zonal.session.sample import Sample, context_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from zonal.session.geo_context import GeoContext

logger = logging.getLogger(__name__)

CHANNEL_CAPACITY = 8_192
"""Samples that may wait, in Zenoh's own memory, for the reading thread of a key."""

_BATCH = 256
_REMEMBERED = 65_536


class Listener(Protocol):
    """A subscriber as its topic's interest sees it."""

    def expressions(self) -> Iterable[str]:
        """The key expressions under which the network must deliver to it."""

    def accepts(self, context: GeoContext | None) -> bool:
        """The exact checks at the edge."""

    def deliver(self, samples: list[Sample]) -> None:
        """Take samples that passed."""


class Interest:
    """The declarations of one topic and the listeners behind them."""

    def __init__(
        self,
        declare: Callable[[str, zenoh.handlers.FifoChannel[zenoh.Sample]], Any],
        *,
        may_repeat: bool = False,
    ) -> None:
        self._declare = declare
        self._always_unique = may_repeat
        self._changing = threading.Lock()
        self._lock = threading.Lock()
        self._listeners: tuple[Listener, ...] = ()
        self._declared: dict[str, _Declaration] = {}
        self._retiring = 0
        self._seen: set[int] = set()
        self._seen_order: deque[int] = deque()
        self.received = 0
        self.malformed = 0
        self.duplicates = 0

    @property
    def declared_keys(self) -> tuple[str, ...]:
        """The key expressions that are declared now."""
        return tuple(self._declared)

    @property
    def is_empty(self) -> bool:
        """Whether nobody listens any more."""
        return not self._listeners

    def add(self, listener: Listener) -> None:
        """Listen, and declare what is needed for it."""
        with self._changing:
            self._listeners = (*self._listeners, listener)
            self._adjust()

    def remove(self, listener: Listener) -> None:
        """Stop listening, and undeclare what nobody else needs."""
        with self._changing:
            self._listeners = tuple(other for other in self._listeners if other is not listener)
            self._adjust()

    def adjust(self) -> None:
        """Declare anew, after a listener's expressions changed: only the difference."""
        with self._changing:
            self._adjust()

    def _adjust(self) -> None:
        needed = _without_included({e for it in self._listeners for e in it.expressions()})
        new, old = needed - self._declared.keys(), self._declared.keys() - needed
        with self._lock:
            self._retiring += len(old)
        for key in sorted(new):
            self._declared[key] = _Declaration(key, self)
        for key in sorted(old):
            self._declared.pop(key).undeclare()

    def close(self) -> None:
        """Undeclare everything and wait for the reading threads."""
        with self._changing:
            self._listeners = ()
            declarations, self._declared = list(self._declared.values()), {}
            with self._lock:
                self._retiring += len(declarations)
            for declaration in declarations:
                declaration.undeclare()
        for declaration in declarations:
            declaration.join()

    def declare(self, key: str, channel: zenoh.handlers.FifoChannel[zenoh.Sample]) -> Any:
        """Declare one key to Zenoh."""
        return self._declare(key, channel)

    def retired(self) -> None:
        """The last sample of an undeclared key was read."""
        with self._lock:
            self._retiring -= 1

    def process(self, batch: list[zenoh.Sample]) -> None:
        """Read, check and hand over the samples of one key."""
        listeners = self._listeners
        wanted: dict[Listener, list[Sample]] = {}
        with self._lock:
            self.received += len(batch)
            unique = self._always_unique or self._retiring > 0
            for raw in batch:
                try:
                    context = context_of(raw)
                except AttachmentError as error:
                    self.malformed += 1
                    logger.warning("dropped a message: %s", error)
                    continue
                if context is not None and (unique or context.copies) and self._is_known(context):
                    self.duplicates += 1
                    continue
                for listener in listeners:
                    if listener.accepts(context):
                        wanted.setdefault(listener, []).append(Sample(raw, context))
        for listener, samples in wanted.items():
            listener.deliver(samples)

    def _is_known(self, context: GeoContext) -> bool:
        identity = context.identity
        if identity in self._seen:
            return True
        self._seen.add(identity)
        self._seen_order.append(identity)
        if len(self._seen_order) > _REMEMBERED:
            self._seen.discard(self._seen_order.popleft())
        return False


class _Declaration:
    """One declared key: Zenoh's subscriber with a bounded channel, and the thread that reads it."""

    def __init__(self, key: str, interest: Interest) -> None:
        self._interest = interest
        self._subscriber = interest.declare(key, zenoh.handlers.FifoChannel(CHANNEL_CAPACITY))
        self._handler = self._subscriber.handler
        self._thread = threading.Thread(target=self._read, name=f"zonal-read {key}", daemon=True)
        self._thread.start()

    def undeclare(self) -> None:
        self._subscriber.undeclare()

    def join(self) -> None:
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _read(self) -> None:
        receive, receive_more = self._handler.recv, self._handler.try_recv
        open_ = True
        while open_:
            try:
                batch = [receive()]
            except zenoh.ZError:  # undeclared, and everything is read
                break
            try:
                while len(batch) < _BATCH and (sample := receive_more()) is not None:
                    batch.append(sample)
            except zenoh.ZError:
                open_ = False
            try:
                self._interest.process(batch)
            except Exception:  # a reader that dies would silence the subscriber
                logger.exception("failed to process %d samples", len(batch))
        self._interest.retired()


def _without_included(keys: set[str]) -> set[str]:
    """The keys without those that another one includes, so that nothing is heard twice."""
    if len(keys) < 2:
        return keys
    wild = [zenoh.KeyExpr(key) for key in keys if "*" in key]
    return {
        key
        for key in keys
        if not any(str(other) != key and other.includes(zenoh.KeyExpr(key)) for other in wild)
    }

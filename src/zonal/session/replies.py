"""The answers to a query, merged from the gets that it became."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from typing import TYPE_CHECKING, Any

import zenoh

from zonal.keys import refine
from zonal.runtime import Incoming, Mailbox, Overflow, Recent, Tally
from zonal.session.sample import Sample, context_of
from zonal.session.weight import bytes_of_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from zonal.geo import Area
    from zonal.session.geo_context import GeoContext
    from zonal.session.parts import SessionParts

logger = logging.getLogger(__name__)

_CAPACITY = 1_000_000
_PATIENCE_S = 5.0
"""How long Zenoh's thread is held up while nobody reads the answers that it brings."""
_FAILURES = 1_000


class ReplyFailure(Exception):  # noqa: N818  (an answer, not an error of ours)
    """A queryable answered with an error; its bytes are in `payload`."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(payload.decode(errors="replace"))
        self.payload = payload


class Replies(Incoming[Sample]):
    """The answers to one query as they come, without doubles; iterate with `for` or `async for`.

    Zenoh's thread only keeps them; they are read and checked by whoever iterates. A million, or
    256 MiB, may wait; then the network is held up, and if nobody takes any for 5 s, what does not
    fit is dropped (`overflowed`). Errors that queryables replied are collected in `failures`, the
    first thousand of them. What cannot be read is left out (`malformed`). With `plain`, answers are
    what it makes of them, unchecked.
    """

    def __init__(
        self,
        name: str,
        gets: int,
        area: Area | None,
        parts: SessionParts,
        plain: Callable[[zenoh.Sample], Sample] | None = None,
    ) -> None:
        mailbox: Mailbox[zenoh.Reply] = Mailbox(
            _CAPACITY, Overflow.BLOCK, name=name, weigh=bytes_of_reply, patience_s=_PATIENCE_S
        )
        super().__init__(mailbox, self._read)
        self._malformed = Tally(logger, "dropped a reply (%(count)d so far): %(why)s")
        self._name = name
        self._area = area
        self._open = gets
        self._threads = parts.threads
        self._position = parts.position
        self._keyring = parts.keyring
        self._plain = plain
        self._lock = threading.Lock()
        self._known: Recent[Hashable] = Recent(_CAPACITY)
        self._enough = _CAPACITY
        self._wake: Callable[[], Any] | None = None
        self.failures: list[ReplyFailure] = []
        self.filtered_at_edge = 0
        self.duplicates = 0
        if gets == 0:
            self._mailbox.close()

    @property
    def malformed(self) -> int:
        """How many replies could not be read."""
        return self._malformed.count

    @property
    def overflowed(self) -> int:
        """How many replies were dropped, since nobody read those that waited."""
        return self._mailbox.overflowed

    def handler(self) -> zenoh.handlers.Callback[zenoh.Reply]:
        """What one get hands its replies to."""
        # Not "indirect", which would start a thread for every get: that cost four times the get.
        return zenoh.handlers.Callback(self._keep, drop=self._done, indirect=False)

    def _keep(self, reply: zenoh.Reply) -> None:
        self._bring((reply,))
        if self._wake is not None and len(self._mailbox) >= self._enough:
            self._wake()

    def _done(self) -> None:
        with self._lock:
            self._open -= 1
            finished = self._open == 0
        if finished:
            self._mailbox.close()
            if self._wake is not None:
                self._wake()

    def _read(self, reply: zenoh.Reply) -> Sample | None:
        """The sample of a reply; None where it is an error, outside the area, or known already."""
        if reply.ok is None:
            if reply.err is not None and len(self.failures) < _FAILURES:
                self.failures.append(ReplyFailure(reply.err.payload.to_bytes()))
            return None
        if self._plain is not None:
            return self._plain(reply.ok)
        try:
            context = context_of(reply.ok)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other replies are read
            self._malformed.add(error)
            return None
        place = context.place if context else None
        with self._lock:
            if not self._is_wanted(context):
                self.filtered_at_edge += 1
                return None
            if self._is_double(reply.ok, context):
                self.duplicates += 1
                return None
        sample = Sample(reply.ok, reply.ok.payload, place, context)
        return self._keyring.opened(sample) if self._keyring.is_used else sample

    def _is_wanted(self, context: GeoContext | None) -> bool:
        """Whether our area holds its place, and its fence holds our own."""
        if context is None:
            return True
        area, place = self._area, context.place
        if area is not None and place is not None and not refine(area, place):
            return False
        return context.fence is None or self._position.is_in(
            context.fence, attested=context.attested
        )

    def _is_double(self, sample: zenoh.Sample, context: GeoContext | None) -> bool:
        """The same message twice, from two queryables that both hold it."""
        name = None if context is None else context.identity
        if sample.timestamp is not None:
            identity: Hashable = (str(sample.key_expr), str(sample.timestamp))
        elif name is not None:
            identity = name
        else:
            return False
        # With its payload: nobody else's answer makes this one a double.
        return self._known.check((identity, hash(sample.payload.to_bytes())))

    async def gather(
        self, most: int = _CAPACITY - 1, within_s: float | None = None
    ) -> list[Sample]:
        """Up to `most` replies at once, when all, or more than these, came or the time is over.

        Waits once, not for every reply: cheaper than `async for`. `is_complete` tells whether
        that was all.
        """
        loop = asyncio.get_running_loop()
        enough: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop may just have been closed
                loop.call_soon_threadsafe(_settle, enough)

        self._enough, self._wake = most + 1, wake
        late = None if within_s is None else loop.call_later(within_s, _settle, enough)
        if not self._mailbox.is_closed and len(self._mailbox) <= most:
            await enough
        self._wake = None
        if late is not None:
            late.cancel()
        return self._waiting(most)

    def _waiting(self, most: int) -> list[Sample]:
        samples: list[Sample] = []
        while len(self._mailbox) and len(samples) < most:
            reply = self._mailbox.take(0)
            if reply is not None and (sample := self._read(reply)) is not None:
                samples.append(sample)
        return samples

    @property
    def is_complete(self) -> bool:
        """Whether all replies came and were read."""
        return self._mailbox.is_closed and not len(self._mailbox)

    def call(self, callback: Callable[[Sample], Any]) -> None:
        """Hand every reply to a callback."""
        self._call_back(self._name, callback, self._threads)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)

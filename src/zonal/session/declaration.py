"""One declared key: Zenoh's subscriber with a bounded channel, and the thread that reads it."""

from __future__ import annotations

import contextlib
import logging
import threading
from itertools import repeat, starmap
from typing import TYPE_CHECKING

import zenoh

from zonal.runtime.lease import Lease

if TYPE_CHECKING:
    from zonal.session.interest import Interest, Listener
    from zonal.session.sample import Sample

logger = logging.getLogger(__name__)

CHANNEL_CAPACITY = 8_192
"""Samples that may wait, in Zenoh's own memory, for the reading thread of a key."""

_BATCH = 256
_STRIDE = 32


class Declaration:
    """Reads the samples of one key until it is undeclared."""

    def __init__(self, key: str, interest: Interest) -> None:
        self._interest = interest
        self._subscriber = interest.declare(key, zenoh.handlers.FifoChannel(CHANNEL_CAPACITY))
        self._handler = self._subscriber.handler
        self._thread = threading.Thread(target=self._read, name=f"zonal-read {key}", daemon=True)
        self._thread.start()

    def undeclare(self) -> None:
        """No more samples come; those that came are read."""
        self._subscriber.undeclare()

    @property
    def is_reading(self) -> bool:
        """Whether its thread still has something to do."""
        return self._thread.is_alive()

    def join(self) -> None:
        """Wait for the thread."""
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
                self._interest.process(batch, self._read_meanwhile)
            except Exception:  # a reader that dies would silence the subscriber
                logger.exception("failed to process %d samples", len(batch))
            if len(batch) == _BATCH:
                self._lend()
        self._interest.retired()

    def _lend(self) -> None:
        """There is a backlog: whoever waits for its samples had better read it directly."""
        reader = self._interest.only_listener
        if reader is None:
            return
        lease: Lease[Sample] = Lease(lambda: self._read_for(reader))
        if reader.lend(lease):
            lease.wait()

    def _read_for(self, reader: Listener) -> list[Sample] | None:
        batch = self._what_is_there()
        if not batch:
            return None
        try:
            return self._interest.process_for(reader, batch)
        except Exception:  # it is not the user's error
            logger.exception("failed to process %d samples", len(batch))
            return []

    def _read_meanwhile(self) -> None:
        """Another thread reads, as this one is busy with a callback: nothing may pile up."""
        for _ in range(CHANNEL_CAPACITY // _BATCH):
            batch = self._what_is_there()
            if not batch:
                return
            self._interest.process(batch)

    def _what_is_there(self) -> list[zenoh.Sample]:
        """A batch at most."""
        batch: list[zenoh.Sample] = []
        with contextlib.suppress(zenoh.ZError):  # undeclared: the reading thread will notice
            for strides in range(1, _BATCH // _STRIDE + 1):
                # Truth is quicker to ask for than equality to None, which Zenoh would be asked.
                batch.extend(filter(None, starmap(self._handler.try_recv, repeat((), _STRIDE))))
                if len(batch) < strides * _STRIDE:
                    break
        return batch

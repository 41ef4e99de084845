"""Webhooks: events to a URL, at least once, those of one thing in their order."""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
import urllib.error
import urllib.request
import zlib
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from zonal.errors import CommandError

if TYPE_CHECKING:
    from zonal.border import FenceEvent

logger = logging.getLogger(__name__)

WORKERS = 4
TIMEOUT_S = 10.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 30.0
_REFUSED = range(400, 500)
_TRY_AGAIN = {408, 425, 429}


class Webhook:
    """Posts events as JSON until the other side has taken them (a status below 300).

    While it does not answer, or answers with a status of 500 and more, the same event is posted
    again, with pauses that double up to half a minute; those behind it wait. What is refused (a
    status of 400 to 499, but not 408, 425 and 429) is logged and left out. Events of one thing go
    one after another; those of different things may overtake each other.
    """

    def __init__(self, url: str) -> None:
        if urlsplit(url).scheme not in {"http", "https"}:
            raise CommandError(f"events are posted to http:// or https://, not {url!r}")
        self._url = url
        self._queues: list[queue.SimpleQueue[FenceEvent | None]] = [
            queue.SimpleQueue() for _ in range(WORKERS)
        ]
        self._closing = threading.Event()
        self._give_up_at = float("inf")
        self._threads = [
            threading.Thread(target=self._work, args=(each,), name="zonal-webhook", daemon=True)
            for each in self._queues
        ]
        self._lock = threading.Lock()
        self.posted = self.refused = self.repeated = 0
        for thread in self._threads:
            thread.start()

    def post(self, event: FenceEvent) -> None:
        """Have an event posted; returns at once."""
        self._queues[zlib.crc32(event.thing.encode()) % WORKERS].put(event)

    @property
    def waiting(self) -> int:
        """How many are not posted yet."""
        return sum(each.qsize() for each in self._queues)

    def close(self, within_s: float = TIMEOUT_S) -> None:
        """Post what waits, for so many seconds at most."""
        self._give_up_at = time.monotonic() + within_s
        self._closing.set()
        for each in self._queues:
            each.put(None)
        for thread in self._threads:
            thread.join(within_s + TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _work(self, events: queue.SimpleQueue[FenceEvent | None]) -> None:
        while (event := events.get()) is not None:
            self._deliver(event)

    def _deliver(self, event: FenceEvent) -> None:
        pause = FIRST_PAUSE_S
        while time.monotonic() < self._give_up_at:
            problem = self._try(event)
            if problem is None:
                return
            logger.warning("%s %s is posted again: %s", event.kind, event.thing, problem)
            with self._lock:
                self.repeated += 1
            # Once closing, it does not wait any longer than there is time left.
            left = self._give_up_at - time.monotonic()
            if self._closing.wait(min(pause, left)):
                time.sleep(min(FIRST_PAUSE_S, max(0.0, left)))
            pause = min(2 * pause, LONGEST_PAUSE_S)
        logger.error("%s %s was not posted", event.kind, event.thing)

    def _try(self, event: FenceEvent) -> str | None:
        """Post once; why it has to be done again, or None."""
        request = urllib.request.Request(  # noqa: S310  (its scheme was checked)
            self._url,
            data=json.dumps(event.to_dict()).encode(),
            headers={"Content-Type": "application/json"},
            method="POST",
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S):  # noqa: S310
                pass
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in _REFUSED and error.code not in _TRY_AGAIN:
                logger.error("%s %s was refused: %s", event.kind, event.thing, error)  # noqa: TRY400
                with self._lock:
                    self.refused += 1
                return None
            return str(error)
        except OSError as error:
            return str(error)
        with self._lock:
            self.posted += 1
        return None

"""The interests of a session: one for each topic and set of encodings."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import zenoh
import zenoh.ext

from zonal.session.interest import Interest
from zonal.session.recovery import Recoverer

if TYPE_CHECKING:
    from zonal.keys import Encoding
    from zonal.session.recovery import Recovery


class Interests:
    """Finds or makes the interest that a new subscriber shares."""

    def __init__(self, session: zenoh.Session, *, datagrams: bool) -> None:
        self._session = session
        self._datagrams = datagrams
        self._lock = threading.Lock()
        self._interests: dict[tuple[str | int, ...], Interest] = {}

    def of(
        self,
        topic: str,
        encodings: tuple[Encoding, ...],
        history: zenoh.ext.HistoryConfig | None,
        recovery: Recovery | None,
    ) -> Interest:
        """Subscribers of a topic and encodings share one; those with a memory have their own."""
        if history is None and recovery is None:
            name = (topic, *sorted(encoding.name for encoding in encodings))
            with self._lock:
                if name not in self._interests:
                    self._interests[name] = Interest(topic, self._session.declare_subscriber)
                return self._interests[name]

        def declare(key: str, channel: zenoh.handlers.FifoChannel[zenoh.Sample]) -> Any:
            if history is None:
                return self._session.declare_subscriber(key, channel)
            return zenoh.ext.declare_advanced_subscriber(
                self._session, key, channel, history=history, subscriber_detection=True
            )

        recoverer = partial(Recoverer, topic, self._session, recovery) if recovery else None
        interest = Interest(
            topic,
            declare,
            may_repeat=history is not None,
            # A subscriber with a history would ask for that of every key again. And Zenoh does not
            # repeat a declaration that a datagram lost: questions under its number, as recovery
            # asks them, would no longer be understood.
            shorthands=history is None and not self._datagrams,
            recoverer=recoverer,
        )
        with self._lock:
            self._interests[topic, id(interest)] = interest
        return interest

    def close_unused(self) -> None:
        """Close those that nobody listens to any more."""
        with self._lock:
            unused = [name for name, interest in self._interests.items() if interest.is_empty]
            closing = [self._interests.pop(name) for name in unused]
        for interest in closing:
            interest.close()

    def close(self) -> None:
        """Close all."""
        with self._lock:
            closing, self._interests = list(self._interests.values()), {}
        for interest in closing:
            interest.close()

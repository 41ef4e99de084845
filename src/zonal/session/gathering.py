"""Messages for a gateway with receivers of its own: it names keys, and gets what comes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeAlias

import zenoh

from zonal.session.declarations import Declarations, Mark
from zonal.session.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from zonal.runtime import Arrivals
    from zonal.session.sample import Sample

Take: TypeAlias = "Callable[[list[Sample]], None]"


class Gathering:
    """The messages of other sessions under a set of keys: read, and each of them once.

    Args:
        session: the plain session.
        arrivals: the session's.
        take: gets batches of samples on the session's reading thread, and must not block.
    """

    def __init__(self, session: zenoh.Session, arrivals: Arrivals, take: Take) -> None:
        self._session = session
        self._take = take
        self._lock = threading.Lock()
        self._reading = Reading()
        self._declarations = Declarations(self._declare, arrivals.door(self._process))

    @property
    def keys(self) -> frozenset[str]:
        """The key expressions that are declared now."""
        return frozenset(self._declarations.keys)

    @property
    def malformed(self) -> int:
        """How many messages could not be read."""
        return self._reading.malformed

    def adjust(self, keys: Iterable[str]) -> None:
        """Hear these keys and no others: new ones are declared before old ones go."""
        with self._lock:
            self._declarations.adjust(keys)

    def close(self) -> None:
        """Hear nothing any more."""
        self.adjust(())

    def _declare(self, key: str, handler: zenoh.handlers.Callback[zenoh.Sample]) -> Any:
        return self._session.declare_subscriber(key, handler, allowed_origin=zenoh.Locality.REMOTE)

    def _process(self, batch: list[Any]) -> None:
        samples = []
        for raw in batch:
            if isinstance(raw, Mark):
                raw.read()
            elif (sample := self._reading.read(raw, unique=True)) is not None:
                samples.append(sample)
        if samples:
            self._take(samples)

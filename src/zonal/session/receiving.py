"""The receiving side of a session: one reader, threads for callbacks, an edge for each topic."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from zonal.runtime import Arrivals, CallbackThreads
from zonal.session.asker import Asker
from zonal.session.declarations import Declarations
from zonal.session.edge import Edge
from zonal.session.historian import Historian
from zonal.session.interest import Interest
from zonal.session.key_budget import KeyBudget
from zonal.session.past_messages import Memories
from zonal.session.recovery import Recoverer
from zonal.session.shorthand import Shorthands
from zonal.session.weight import bytes_of_arrival

if TYPE_CHECKING:
    from collections.abc import Callable

    import zenoh

    from zonal.keys import Encoding
    from zonal.session.announcements import Announcements
    from zonal.session.past_messages import PastMessages
    from zonal.session.recovery import Recovery


class Receiving:
    """What arrives in a session, whatever the number of topics: at most three threads of ours.

    One reads and checks what Zenoh hands over, one watches that user code does not keep the
    reader, one asks memories; and there are as many threads as callbacks run at a time.
    """

    def __init__(
        self, session: zenoh.Session, announcements: Announcements, *, datagrams: bool
    ) -> None:
        self._session = session
        self._announcements = announcements
        self._datagrams = datagrams
        self.arrivals = Arrivals("zonal", weight_of=bytes_of_arrival)
        self.threads = CallbackThreads("zonal")
        self._budget = KeyBudget(self.threads)
        self._asker = Asker(session)
        self._historian = Historian(self._asker)
        self._lock = threading.Lock()
        self._edges: dict[tuple[str | int, ...], Edge] = {}

    def edge(
        self,
        topic: str,
        encodings: tuple[Encoding, ...],
        history: PastMessages | None,
        recovery: Recovery | None,
    ) -> Edge:
        """Subscribers of a topic and encodings share one; those with a memory have their own."""
        with self._lock:
            if history is None and recovery is None:
                name: tuple[str | int, ...] = (topic, *sorted(each.name for each in encodings))
                if name not in self._edges:
                    self._edges[name] = self._new_edge(topic, encodings, None, None)
                return self._edges[name]
            edge = self._new_edge(topic, encodings, history, recovery)
            self._edges[topic, id(edge)] = edge
            return edge

    def _new_edge(
        self,
        topic: str,
        encodings: tuple[Encoding, ...],
        history: PastMessages | None,
        recovery: Recovery | None,
    ) -> Edge:
        # Zenoh does not repeat a declaration that a datagram lost: questions under its number, as
        # recovery asks them, would no longer be understood.
        lasting = not (recovery is not None and self._datagrams)
        recoverer = partial(Recoverer, self._asker, recovery) if recovery else None

        def declarations(edge: Edge) -> Declarations:
            arrive = self.arrivals.door(edge.process)
            return Declarations(
                self._session.declare_subscriber,
                arrive,
                self.arrivals.lanes(edge.process) if lasting else None,
                partial(self._accompany, edge, history, arrive),
            )

        return Edge(
            Interest(topic, encodings, cells_an_area=self._budget.first_cells()),
            declarations,
            self._announcements,
            self._budget,
            # A key that is declared anew would have publishers send all they remember again.
            may_be_refined=history is None,
            may_repeat=history is not None or recovery is not None,
            shorthands=Shorthands(self._session.declare_subscriber) if lasting else None,
            recoverer=recoverer,
        )

    def _accompany(
        self,
        edge: Edge,
        history: PastMessages | None,
        arrive: Callable[[zenoh.Sample], None],
        key: str,
    ) -> list[Any]:
        """What else is heard while a key is: heartbeats, and what its publishers remember."""
        heard: list[Any] = []
        heartbeats = edge.hear_heartbeats(key)
        if heartbeats is not None:
            heard.append(heartbeats)
        if history is not None:
            heard.append(Memories(self._session, self._historian, key, arrive, history))
        return heard

    def close_unused(self) -> None:
        """Close the edges that nobody listens to any more."""
        with self._lock:
            unused = [name for name, edge in self._edges.items() if edge.is_empty]
            closing = [self._edges.pop(name) for name in unused]
        for edge in closing:
            edge.close()

    def close(self) -> None:
        """Close all, read what has arrived, end the threads."""
        with self._lock:
            closing, self._edges = list(self._edges.values()), {}
        for edge in closing:
            edge.close()
        self._asker.close()
        self.arrivals.close()
        self.threads.close()

"""What a web server counts, for Prometheus."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from zonal.keys import read_key
from zonal.runtime import Family, figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from zonal.geo import Area

PLAIN = "plain"
"""The encoding of messages without a location key."""
OTHER = "other"


_BY = ("topic", "encoding")

FAMILIES = {
    "zonal_published": Family("counter", "Messages published by way of this server.", _BY),
    "zonal_messages": Family("counter", "Messages that reached this server, unchecked.", _BY),
    "zonal_matches": Family("counter", "Messages that a selection of this server wanted.", _BY),
    "zonal_edge_filtered": Family(
        "counter",
        "Exact checks at the edge that said no: the routers' covers are a little wider.",
        _BY,
    ),
    "zonal_overflow": Family("counter", "Messages dropped because this server was too slow.", _BY),
    "zonal_queries": Family("counter", "Queries of clients.", _BY),
    "zonal_questions": Family("counter", "Queries put to the network; equal ones share one.", _BY),
    "zonal_replies": Family("counter", "Replies received.", _BY),
    "zonal_stream_events": Family("counter", "Events written to streams."),
    "zonal_stream_dropped": Family("counter", "Events dropped because a reader was slow."),
    "zonal_streams_stalled": Family("counter", "Readers disconnected: they took nothing."),
    "zonal_streams": Family("gauge", "Event streams that are open."),
    "zonal_feeds": Family("gauge", "Different selections behind the open streams."),
    "zonal_requests": Family("counter", "Requests by method and status.", ("method", "status")),
}


class Metrics:
    """Counts by name and labels; bounded, whatever topics clients invent."""

    def __init__(self, topics: int = 500) -> None:
        self._values: dict[str, Counter[tuple[str, ...]]] = {name: Counter() for name in FAMILIES}
        self._topics: set[str] = set()
        self._most = topics
        self.gauges: dict[str, Callable[[], float]] = {}
        self.before_reading: Callable[[], None] = lambda: None

    def count(self, name: str, *labels: str, by: float = 1) -> None:
        """Add to a counter."""
        self._values[name][labels] += by  # type: ignore[assignment]

    def count_topic(self, name: str, topic: str, encoding: str, by: float = 1) -> None:
        """Add to a counter of a topic; too many topics share one label."""
        if topic not in self._topics:
            if len(self._topics) >= self._most:
                topic = OTHER
            else:
                self._topics.add(topic)
        self._values[name][topic, encoding] += by  # type: ignore[assignment]

    def to_text(self) -> str:
        """The page that Prometheus reads."""
        self.before_reading()
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        for name, family in FAMILIES.items():
            values: Mapping[tuple[str, ...], float] = self._values[name]
            if name in self.gauges:
                values = {(): self.gauges[name]()}
            elif not values and not family.labels:
                values = {(): 0}
            yield from figures(name, family, values)


def encoding_of_key(key: str) -> str:
    """The encoding that a key on the wire is written in."""
    return read_key(key).location.partition("/")[0][1:] or PLAIN


def label_of_encodings(encodings: Sequence[str], area: Area | None) -> str:
    """The encodings that a query or subscription uses: those it names, else the default."""
    if not encodings:
        return "all" if area is None else "s2"
    return "+".join(encodings)

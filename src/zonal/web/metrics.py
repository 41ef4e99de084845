"""Counters for Prometheus, in its text format (version 0.0.4)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from zonal.keys import read_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from zonal.geo import Area

PLAIN = "plain"
"""The encoding of messages without a location key."""
OTHER = "other"


class Family(NamedTuple):
    """One metric: its kind, what it counts, and the names of its labels."""

    kind: str
    text: str
    labels: tuple[str, ...] = ("topic", "encoding")


FAMILIES = {
    "zonal_published": Family("counter", "Messages published by way of this server."),
    "zonal_messages": Family("counter", "Messages that reached this server, before any check."),
    "zonal_matches": Family("counter", "Messages that a selection of this server wanted."),
    "zonal_edge_filtered": Family(
        "counter", "Exact checks at the edge that said no: the routers' covers are a little wider."
    ),
    "zonal_overflow": Family("counter", "Messages dropped because this server was too slow."),
    "zonal_queries": Family("counter", "Queries of clients."),
    "zonal_questions": Family("counter", "Queries put to the network; equal ones share one."),
    "zonal_replies": Family("counter", "Replies received."),
    "zonal_stream_events": Family("counter", "Events written to streams.", ()),
    "zonal_stream_dropped": Family("counter", "Events dropped because a reader was slow.", ()),
    "zonal_streams_stalled": Family("counter", "Readers disconnected: they took nothing.", ()),
    "zonal_streams": Family("gauge", "Event streams that are open.", ()),
    "zonal_feeds": Family("gauge", "Different selections behind the open streams.", ()),
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
            shown = f"{name}_total" if family.kind == "counter" else name
            yield f"# HELP {shown} {family.text}"
            yield f"# TYPE {shown} {family.kind}"
            if name in self.gauges:
                yield f"{shown} {self.gauges[name]():g}"
                continue
            values = self._values[name] or ({(): 0} if not family.labels else {})
            for labels, value in sorted(values.items()):
                yield f"{shown}{_labels(family.labels, labels)} {_number(value)}"


def _labels(names: Iterable[str], values: Iterable[str]) -> str:
    pairs = [f'{name}="{_escape(value)}"' for name, value in zip(names, values, strict=True)]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def encoding_of_key(key: str) -> str:
    """The encoding that a key on the wire is written in."""
    return read_key(key).location.partition("/")[0][1:] or PLAIN


def label_of_encodings(encodings: Sequence[str], area: Area | None) -> str:
    """The encodings that a query or subscription uses: those it names, else the default."""
    if not encodings:
        return "all" if area is None else "s2"
    return "+".join(encodings)

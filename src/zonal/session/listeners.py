"""Who of a topic's listeners wants a message: each asked in turn, or the subscription index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from zonal.geo import Point
from zonal.index import SubscriptionIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from zonal.geo import Area
    from zonal.session.geo_context import GeoContext
    from zonal.session.sample import Sample
    from zonal.session.sample_columns import SampleColumns
    from zonal.session.wish import Wish

_MANY = 12
"""From so many listeners on the index is quicker than asking each."""

_TOPIC = "t"  # all listeners of an edge share their topic, so its name does not matter
_SELF = "self"


class Listener(Protocol):
    """A subscriber as the edge sees it."""

    def __hash__(self) -> int: ...

    @property
    def area(self) -> Area | None:
        """The exact area now; None: the whole network."""

    @property
    def hears_fenced(self) -> bool:
        """Whether it wants messages with a geofence wherever it is itself."""

    @property
    def wish(self) -> Wish | None:
        """What has to be declared for it; None: nothing yet."""

    def accepts(self, context: GeoContext | None) -> bool:
        """The exact checks at the edge."""

    def deliver(self, samples: Sequence[Sample], *, at_once: bool = False) -> bool:
        """Take samples that passed; whether they are dealt with, and wait for no other thread.

        `at_once`: on the reading thread, as the last thing it does with what it has read.
        """


class Listeners:
    """The listeners of one topic in this session; all of them are where the session is."""

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()
        self._ids: dict[Listener, int] = {}
        self._next_id = 0
        self._own: Point | None = None
        self._index: SubscriptionIndex[Listener] = SubscriptionIndex()

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, listener: Listener, own: Point | None) -> None:
        """Take a listener in; `own` is where the session is."""
        self._next_id += 1
        self._ids[listener] = self._next_id
        self._locate(own)
        self._index.add(
            self._next_id,
            _TOPIC,
            listener.area,
            client=_SELF,
            value=listener,
            fenced=listener.hears_fenced,
        )
        self._listeners = tuple(self._ids)

    def update(self, listener: Listener, own: Point | None) -> None:
        """A listener's area or the session's place changed."""
        if listener in self._ids:
            self._locate(own)
            self._index.update(self._ids[listener], area=listener.area)

    def remove(self, listener: Listener) -> None:
        """Leave a listener out."""
        number = self._ids.pop(listener, None)
        if number is not None:
            self._index.remove(number)
            self._listeners = tuple(self._ids)

    def of(self, context: GeoContext | None) -> Iterable[Listener]:
        """Those who want a message with this geo-context."""
        if (
            len(self._ids) < _MANY
            or context is None
            or context.attested
            or not isinstance(context.place, Point)
        ):
            return [listener for listener in self._listeners if listener.accepts(context)]
        found: Iterable[Listener] = self._index.match(_TOPIC, context.place, context.fence)
        return found

    def _locate(self, own: Point | None) -> None:
        if own != self._own:
            self._own = own
            self._index.locate(_SELF, own)


def gather(
    sample: Sample, listeners: tuple[Listener, ...], wanted: dict[Listener, list[Sample]]
) -> None:
    """Add a sample to what each of these listeners gets."""
    for listener in listeners:
        samples = wanted.get(listener)
        if samples is None:
            wanted[listener] = [sample]
        else:
            samples.append(sample)


def shared_out(
    columns: SampleColumns, listeners: list[tuple[Listener, ...]]
) -> Mapping[Listener, Sequence[Sample]]:
    """To each listener what it wants."""
    if not listeners:
        return {}
    if listeners.count(listeners[0]) == len(listeners):
        return dict.fromkeys(listeners[0], columns)
    rows: dict[Listener, list[int]] = {}
    for row, each in enumerate(listeners):
        for listener in each:
            rows.setdefault(listener, []).append(row)
    return {listener: columns.at(wanted) for listener, wanted in rows.items()}

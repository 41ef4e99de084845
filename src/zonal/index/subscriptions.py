"""The subscription index: which subscriptions want this message?"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

import numpy as np

from zonal.errors import SubscriptionError
from zonal.geo import Area, Circle
from zonal.index.clients import Clients
from zonal.index.fences import merged
from zonal.index.filters import Syntax, TopicFilter, read_filter
from zonal.index.raster import Raster
from zonal.index.roster import Record, Roster
from zonal.index.routes import Route, Routes

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence
    from types import EllipsisType

    from numpy.typing import NDArray

    from zonal.geo import Point
    from zonal.index.columns import Rows
    from zonal.index.fences import Fences

V = TypeVar("V")


class Subscription(NamedTuple):
    """What the index knows of one subscription."""

    id: Hashable
    topic_filter: TopicFilter
    area: Area | None
    client: Hashable | None
    fenced: bool


class SubscriptionIndex(Generic[V]):
    """Subscriptions by topic and place, with GeoBroker's three checks in its order.

    A subscription has an id that the caller chooses (any hashable, such as a pair of client and
    filter), a topic filter, perhaps a geofence, perhaps a client (whose location decides about
    messages with a geofence), and a value, which `match` returns (the id itself if none is
    given). All methods may be called from any thread; each is atomic.

    Args:
        granularity: fields per degree of the raster; by default every geofence finds a suitable
            one by itself.
        syntax: how filters and topics are read where a call does not say.
        fences: makes the spatial structure of a filter; by default a `Raster`.
    """

    def __init__(
        self,
        granularity: float | None = None,
        *,
        syntax: Syntax = Syntax.ZENOH,
        fences: Callable[[], Fences] | None = None,
    ) -> None:
        self._make_fences: Callable[[], Fences] = fences or partial(Raster, granularity)
        if fences is None:
            Raster(granularity)  # refuses a bad granularity here and not at the first add
        self._syntax = syntax
        self._lock = threading.Lock()
        self._routes = Routes()
        self._clients = Clients()
        self._roster = Roster()

    # -- what is in it ------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._roster)

    def __contains__(self, id_: Hashable) -> bool:
        return id_ in self._roster

    def __iter__(self) -> Iterator[Hashable]:
        with self._lock:
            return iter(self._roster)

    def __getitem__(self, id_: Hashable) -> Subscription:
        with self._lock:
            row = self._roster.row(id_)
            record = self._roster.record(row)
            fenced = bool(self._roster.fenced[row])
            return Subscription(id_, record.topic_filter, record.area, record.client, fenced)

    def ids_of(self, client: Hashable) -> list[Hashable]:
        """The ids of a client's subscriptions."""
        with self._lock:
            return [self._roster.record(row).id for row in self._roster.rows_of(client)]

    def location_of(self, client: Hashable) -> Point | None:
        """The last location of a client, None if it is unknown."""
        with self._lock:
            return self._clients.point(client)

    # -- changes ------------------------------------------------------------------------------

    def add(
        self,
        id_: Hashable,
        topic_filter: str,
        area: Area | None = None,
        *,
        client: Hashable | None = None,
        value: V | EllipsisType = ...,
        fenced: bool = False,
        syntax: Syntax | None = None,
    ) -> None:
        """Add a subscription.

        Args:
            id_: must not be in the index yet.
            topic_filter: an MQTT filter (also `$share/group/filter`) or a Zenoh key expression.
            area: the consumer geofence; None (or `Everywhere`) welcomes every location. A circle
                without a centre follows the client's location.
            client: whose location it is that messages with a geofence are checked against.
            value: what `match` returns for it; the id by default.
            fenced: messages with a geofence reach it wherever its client is.
            syntax: how the filter is read, if not as the index says.
        """
        read = read_filter(topic_filter, syntax or self._syntax)
        with self._lock:
            roster = self._roster
            if id_ in roster:
                raise SubscriptionError(
                    f"subscription {id_!r} is in the index; update() changes it"
                )
            audience = self._routes.audience(read)
            audience.add(roster.next_row(), self._placed(area, client), self._make_fences)
            record = Record(id_, read, audience, area, client)
            row = roster.enter(record, id_ if value is ... else value, self._clients.seat(client))
            if fenced:
                roster.set_fenced(row, fenced=True)

    def update(
        self,
        id_: Hashable,
        *,
        area: Area | EllipsisType | None = ...,
        topic_filter: str | None = None,
        value: V | EllipsisType = ...,
        fenced: bool | None = None,
        syntax: Syntax | None = None,
    ) -> None:
        """Change a subscription's geofence, filter, value or exemption; the rest stays."""
        read = None if topic_filter is None else read_filter(topic_filter, syntax or self._syntax)
        with self._lock:
            row = self._roster.row(id_)
            record = self._roster.record(row)
            if read is not None and read != record.topic_filter:
                self._change_filter(row, record, read)
            if area is not ...:
                record.audience.move(row, self._placed(area, record.client), self._make_fences)
                self._roster.set_area(row, area)
            if value is not ...:
                record.audience.stamp += 1
                self._roster.values[row] = value
            if fenced is not None:
                self._roster.set_fenced(row, fenced=fenced)

    def remove(self, id_: Hashable) -> None:
        """Remove a subscription."""
        with self._lock:
            self._remove_row(self._roster.row(id_))

    def locate(self, client: Hashable, point: Point | None) -> None:
        """Tell where a client is (None: unknown again); its ego-centric geofences follow it."""
        with self._lock:
            if point is None and not self._roster.has_rows(client):
                self._clients.leave(client)
                return
            self._clients.locate(self._clients.seat(client), point)
            for row in self._roster.followers_of(client):
                record = self._roster.record(row)
                placed = self._placed(record.area, client)
                record.audience.move(row, placed, self._make_fences)

    def remove_client(self, client: Hashable) -> list[Hashable]:
        """Remove a client: its subscriptions, whose ids are returned, and its location."""
        with self._lock:
            rows = self._roster.rows_of(client)
            ids = [self._roster.record(row).id for row in rows]
            for row in rows:
                self._remove_row(row)
            self._clients.leave(client)
            return ids

    # -- the question -------------------------------------------------------------------------

    def match(
        self,
        topic: str,
        location: Point | None = None,
        geofence: Area | None = None,
        *,
        syntax: Syntax | None = None,
    ) -> Sequence[V]:
        """The values of the subscriptions that want a message; read it, do not change it.

        The three checks, in this order: the topic matches the filter; the subscription's
        geofence contains the message's location; the message's geofence contains the location
        of the subscription's client. What is missing skips its check, except that a message with
        a geofence does not reach a client whose location is unknown.
        """
        if location is None and geofence is None:
            return self._match_topic(topic, syntax or self._syntax)
        with self._lock:
            if geofence is None and location is not None:
                rows = _listening(self._routes.find(topic, syntax or self._syntax), location)
                if isinstance(rows, list):
                    values = self._roster.values
                    return [values[row] for row in rows]
            else:
                rows = self._match_rows(topic, location, geofence, syntax)
            return cast("list[V]", self._roster.values[rows].tolist())

    def match_each(
        self, topic: str, lats: Sequence[float], lons: Sequence[float]
    ) -> tuple[list[int], list[V]]:
        """As `match` for many messages of one topic, by latitude and longitude in degrees.

        Returns the numbers of messages, in order, and beside each the value of a subscription
        that wants it.
        """
        with self._lock:
            audiences = self._routes.find(topic, self._syntax).audiences
            where = np.array(lats, dtype=np.float64), np.array(lons, dtype=np.float64)
            found = [audience.listening_at_each(*where) for audience in audiences]
            numbers, rows = merged(found)
            return numbers.tolist(), self._roster.values[rows].tolist()

    def match_rows(
        self,
        topic: str,
        location: Point | None = None,
        geofence: Area | None = None,
        *,
        syntax: Syntax | None = None,
    ) -> Rows:
        """As `match`, but row numbers in an array: nothing is built for thousands of hits.

        A row number stands for its subscription until that is removed; `values` translates.
        """
        with self._lock:
            return self._match_rows(topic, location, geofence, syntax)

    def row_of(self, id_: Hashable) -> int:
        """The row number of a subscription."""
        return self._roster.row(id_)

    def values(self, rows: Rows) -> NDArray[np.object_]:
        """The values of rows that `match_rows` gave, in an array: a third of a list's time."""
        return self._roster.values[rows]

    def _match_topic(self, topic: str, syntax: Syntax) -> list[V]:
        """Without places the whole answer is remembered, and read without the lock.

        That is safe since an audience's stamp grows before the audience changes, and a route
        has its values before its stamp: a fresh route is an answer of just now.
        """
        route = self._routes.remembered(syntax).get(topic)
        if route is None or not route.is_fresh:
            with self._lock:
                route = self._routes.find(topic, syntax)
                route.remember(self._roster.values[_everyone(route)].tolist())
        return route.values

    # -- inside (the lock is held) ------------------------------------------------------------

    def _match_rows(
        self, topic: str, location: Point | None, geofence: Area | None, syntax: Syntax | None
    ) -> Rows:
        route = self._routes.find(topic, syntax or self._syntax)
        if location is None:
            rows = _everyone(route)
        else:
            rows = np.asarray(_listening(route, location), dtype=np.intp)
        if geofence is None or not len(rows):
            return rows
        inside = self._clients.inside(self._roster.seats[rows], geofence)
        if self._roster.fenced_count:
            inside |= self._roster.fenced[rows]
        reached: Rows = rows[inside.nonzero()[0]]
        return reached

    def _change_filter(self, row: int, record: Record, topic_filter: TopicFilter) -> None:
        record.audience.remove(row)
        self._routes.close_if_empty(record.audience)
        record.topic_filter = topic_filter
        record.audience = self._routes.audience(topic_filter)
        placed = self._placed(record.area, record.client)
        record.audience.add(row, placed, self._make_fences)

    def _remove_row(self, row: int) -> None:
        record = self._roster.record(row)
        record.audience.remove(row)
        self._routes.close_if_empty(record.audience)
        self._roster.leave(row)
        client = record.client
        is_gone = client is not None and not self._roster.has_rows(client)
        if is_gone and self._clients.point(client) is None:
            self._clients.leave(client)

    def _placed(self, area: Area | None, client: Hashable | None) -> Area | None:
        if isinstance(area, Circle) and area.center is None and client is not None:
            point = self._clients.point(client)
            return area if point is None else area.at(point)
        return area


def _everyone(route: Route) -> Rows:
    rows = [row for audience in route.audiences for row in audience.everyone()]
    return np.array(rows, dtype=np.intp)


def _listening(route: Route, location: Point) -> Rows | list[int]:
    """The rows that want what happens at a place; a list where they are few."""
    audiences = route.audiences
    if len(audiences) == 1:
        return audiences[0].listening_at(location)
    if not audiences:
        return []
    parts = [audience.listening_at(location) for audience in audiences]
    return np.concatenate([np.asarray(part, dtype=np.intp) for part in parts])

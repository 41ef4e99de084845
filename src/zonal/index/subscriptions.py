"""The subscription index: which subscriptions want this message?"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

import numpy as np

from zonal.errors import SubscriptionError
from zonal.geo import Area, Circle
from zonal.index.audience import Audience
from zonal.index.chunks import is_wild
from zonal.index.clients import Clients
from zonal.index.filters import Syntax, TopicFilter, read_filter
from zonal.index.raster import Raster
from zonal.index.tree import TopicTree

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence
    from types import EllipsisType

    from numpy.typing import NDArray

    from zonal.geo import Point
    from zonal.index.columns import Rows
    from zonal.index.fences import Fences

V = TypeVar("V")

MAX_ROUTES = 1 << 16
"""Topics whose audiences are remembered; a bound, so that topics by the million do no harm."""


class Subscription(NamedTuple):
    """What the index knows of one subscription."""

    id: Hashable
    topic_filter: TopicFilter
    area: Area | None
    client: Hashable | None
    fenced: bool


class _Record:
    """A subscription as it is kept."""

    __slots__ = ("area", "audience", "client", "id", "topic_filter")

    def __init__(
        self,
        id_: Hashable,
        topic_filter: TopicFilter,
        audience: Audience,
        area: Area | None,
        client: Hashable | None,
    ) -> None:
        self.id = id_
        self.topic_filter = topic_filter
        self.audience = audience
        self.area = area
        self.client = client


class _Route:
    """The audiences of one topic, and the values of all of them as long as nobody changes."""

    __slots__ = ("audiences", "stamp", "values")

    def __init__(self, audiences: list[Audience]) -> None:
        self.audiences = audiences
        self.stamp = -1
        self.values: list[Any] = []


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
        self._tree: TopicTree[Audience] = TopicTree()
        self._routes: dict[Syntax, dict[str, _Route]] = {each: {} for each in Syntax}
        self._clients = Clients()
        self._rows_of_client: dict[Hashable, set[int]] = {}
        self._row_of: dict[Hashable, int] = {}
        self._records: list[_Record | None] = []
        self._free_rows: list[int] = []
        self._values: NDArray[np.object_] = np.empty(16, dtype=np.object_)
        self._seats: NDArray[np.intp] = np.zeros(16, dtype=np.intp)
        self._fenced: NDArray[np.bool_] = np.zeros(16, dtype=np.bool_)
        self._fenced_count = 0

    # -- what is in it ------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._row_of)

    def __contains__(self, id_: Hashable) -> bool:
        return id_ in self._row_of

    def __iter__(self) -> Iterator[Hashable]:
        with self._lock:
            return iter(list(self._row_of))

    def __getitem__(self, id_: Hashable) -> Subscription:
        with self._lock:
            row = self._row(id_)
            record = self._record(row)
            return Subscription(
                id_,
                record.topic_filter,
                record.area,
                record.client,
                bool(self._fenced[row]),
            )

    def ids_of(self, client: Hashable) -> list[Hashable]:
        """The ids of a client's subscriptions."""
        with self._lock:
            return [self._record(row).id for row in self._rows_of_client.get(client, ())]

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
            if id_ in self._row_of:
                raise SubscriptionError(
                    f"subscription {id_!r} is in the index; update() changes it"
                )
            audience = self._audience(read)
            row = self._take_row()
            audience.add(row, self._placed(area, client), self._make_fences)
            self._row_of[id_] = row
            self._records[row] = _Record(id_, read, audience, area, client)
            self._values[row] = id_ if value is ... else value
            self._seats[row] = self._clients.seat(client)
            if fenced:
                self._set_fenced(row, fenced=True)
            if client is not None:
                rows = self._rows_of_client.get(client)
                if rows is None:
                    self._rows_of_client[client] = {row}
                else:
                    rows.add(row)

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
        read = read_filter(topic_filter, syntax or self._syntax) if topic_filter else None
        with self._lock:
            row = self._row(id_)
            record = self._record(row)
            if read is not None and read != record.topic_filter:
                self._change_filter(row, record, read)
            if area is not ...:
                record.area = area
                placed = self._placed(area, record.client)
                record.audience.move(row, placed, self._make_fences)
            if value is not ...:
                self._values[row] = value
                record.audience.stamp += 1
            if fenced is not None:
                self._set_fenced(row, fenced=fenced)

    def remove(self, id_: Hashable) -> None:
        """Remove a subscription."""
        with self._lock:
            self._remove_row(self._row(id_))

    def locate(self, client: Hashable, point: Point | None) -> None:
        """Tell where a client is (None: unknown again); its ego-centric geofences follow it."""
        with self._lock:
            if point is None and client not in self._rows_of_client:
                self._clients.leave(client)
                return
            self._clients.locate(self._clients.seat(client), point)
            for row in self._rows_of_client.get(client, ()):
                record = self._record(row)
                if isinstance(record.area, Circle) and record.area.center is None:
                    placed = self._placed(record.area, client)
                    record.audience.move(row, placed, self._make_fences)

    def remove_client(self, client: Hashable) -> list[Hashable]:
        """Remove a client: its subscriptions, whose ids are returned, and its location."""
        with self._lock:
            rows = list(self._rows_of_client.get(client, ()))
            ids = [self._record(row).id for row in rows]
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
        with self._lock:
            route = self._route(topic, syntax or self._syntax)
            if location is None and geofence is None:
                return self._everyone(route)
            rows = self._listening(route, location)
            if geofence is not None:
                rows = self._reached(rows, geofence)
            return cast("list[V]", self._values[rows].tolist())

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
            rows = self._listening(self._route(topic, syntax or self._syntax), location)
            return rows if geofence is None else self._reached(rows, geofence)

    def row_of(self, id_: Hashable) -> int:
        """The row number of a subscription."""
        return self._row(id_)

    def values(self, rows: Rows) -> list[V]:
        """The values of rows that `match_rows` gave."""
        return cast("list[V]", self._values[rows].tolist())

    # -- inside (the lock is held) ------------------------------------------------------------

    def _everyone(self, route: _Route) -> list[V]:
        audiences = route.audiences
        stamp = sum([audience.stamp for audience in audiences])  # grows with every change
        if stamp != route.stamp:
            rows = [row for audience in audiences for row in audience.everyone()]
            route.values = self._values[rows].tolist()
            route.stamp = stamp
        return route.values

    def _listening(self, route: _Route, location: Point | None) -> Rows:
        audiences = route.audiences
        if location is None:
            rows = [row for audience in audiences for row in audience.everyone()]
            return np.array(rows, dtype=np.intp)
        if len(audiences) == 1:
            return audiences[0].listening_at(location)
        if not audiences:
            return np.empty(0, dtype=np.intp)
        return np.concatenate([audience.listening_at(location) for audience in audiences])

    def _reached(self, rows: Rows, geofence: Area) -> Rows:
        if not len(rows):
            return rows
        inside = self._clients.inside(self._seats[rows], geofence)
        if self._fenced_count:
            inside |= self._fenced[rows]
        reached: Rows = rows[inside.nonzero()[0]]
        return reached

    def _route(self, topic: str, syntax: Syntax) -> _Route:
        routes = self._routes[syntax]
        route = routes.get(topic)
        if route is None:
            route = _Route(self._tree.match(topic, syntax))
            if syntax is Syntax.ZENOH and is_wild(topic):
                return route  # what it meets can change with any filter: not remembered
            if len(routes) >= MAX_ROUTES:
                routes.clear()
            routes[topic] = route
        return route

    def _forget_routes(self, topic_filter: TopicFilter) -> None:
        """A filter came or went: forget what that changes."""
        for routes in self._routes.values():
            if topic_filter.is_literal:
                routes.pop(topic_filter.topic, None)
            else:
                routes.clear()

    def _audience(self, topic_filter: TopicFilter) -> Audience:
        audience = self._tree.get(topic_filter)
        if audience is None:
            audience = Audience(topic_filter)
            self._tree.set(topic_filter, audience)
            self._forget_routes(topic_filter)
        return audience

    def _change_filter(self, row: int, record: _Record, topic_filter: TopicFilter) -> None:
        self._leave(row, record)
        record.topic_filter = topic_filter
        record.audience = self._audience(topic_filter)
        placed = self._placed(record.area, record.client)
        record.audience.add(row, placed, self._make_fences)

    def _leave(self, row: int, record: _Record) -> None:
        record.audience.remove(row)
        if not len(record.audience):
            self._tree.delete(record.audience.topic_filter)
            self._forget_routes(record.audience.topic_filter)

    def _placed(self, area: Area | None, client: Hashable | None) -> Area | None:
        if isinstance(area, Circle) and area.center is None and client is not None:
            point = self._clients.point(client)
            return area if point is None else area.at(point)
        return area

    def _row(self, id_: Hashable) -> int:
        try:
            return self._row_of[id_]
        except KeyError:
            raise SubscriptionError(f"no subscription {id_!r} is in the index") from None

    def _record(self, row: int) -> _Record:
        record = self._records[row]
        assert record is not None
        return record

    def _take_row(self) -> int:
        if self._free_rows:
            return self._free_rows.pop()
        row = len(self._records)
        self._records.append(None)
        if row == len(self._values):
            more = row // 2
            self._values = np.concatenate([self._values, np.empty(more, dtype=np.object_)])
            self._seats = np.concatenate([self._seats, np.zeros(more, dtype=np.intp)])
            self._fenced = np.concatenate([self._fenced, np.zeros(more, dtype=np.bool_)])
        return row

    def _remove_row(self, row: int) -> None:
        record = self._record(row)
        self._leave(row, record)
        del self._row_of[record.id]
        self._records[row] = None
        self._values[row] = None
        self._set_fenced(row, fenced=False)
        self._free_rows.append(row)
        if record.client is not None:
            rows = self._rows_of_client[record.client]
            rows.remove(row)
            if not rows:
                del self._rows_of_client[record.client]
                if self._clients.point(record.client) is None:
                    self._clients.leave(record.client)

    def _set_fenced(self, row: int, *, fenced: bool) -> None:
        self._fenced_count += int(fenced) - int(self._fenced[row])
        self._fenced[row] = fenced

"""The roster: a row number for every subscription, and what the index keeps of it by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zonal.errors import SubscriptionError
from zonal.geo import Circle

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from numpy.typing import NDArray

    from zonal.geo import Area
    from zonal.index.audience import Audience
    from zonal.index.filters import TopicFilter


class Record:
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


class Roster:
    """Rows are numbers from 0 up, used again when free, so that arrays can be indexed by them."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, int] = {}
        self._records: list[Record | None] = []
        self._free: list[int] = []
        # One set would be enough, but most clients have one subscription, and a set is large.
        self._rows_of_client: dict[Hashable, int | set[int]] = {}
        self._followers: dict[Hashable, set[int]] = {}
        self.values: NDArray[np.object_] = np.empty(16, dtype=np.object_)
        self.seats: NDArray[np.intp] = np.zeros(16, dtype=np.intp)
        self.fenced: NDArray[np.bool_] = np.zeros(16, dtype=np.bool_)
        self.fenced_count = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, id_: Hashable) -> bool:
        return id_ in self._rows

    def __iter__(self) -> Iterator[Hashable]:
        return iter(list(self._rows))

    def row(self, id_: Hashable) -> int:
        """The row of an id; raises SubscriptionError if there is none."""
        try:
            return self._rows[id_]
        except KeyError:
            raise SubscriptionError(f"no subscription {id_!r} is in the index") from None

    def record(self, row: int) -> Record:
        """What is kept in a row."""
        record = self._records[row]
        assert record is not None
        return record

    def has_rows(self, client: Hashable) -> bool:
        """Whether a client has subscriptions."""
        return client in self._rows_of_client

    def rows_of(self, client: Hashable) -> tuple[int, ...]:
        """The rows of a client's subscriptions."""
        rows = self._rows_of_client.get(client, ())
        return (rows,) if isinstance(rows, int) else tuple(rows)

    def followers_of(self, client: Hashable) -> tuple[int, ...]:
        """The rows whose geofence follows the client's location."""
        return tuple(self._followers.get(client, ()))

    def set_area(self, row: int, area: Area | None) -> None:
        """Keep a row's area as it was given, and whether it follows its client."""
        record = self.record(row)
        record.area = area
        client = record.client
        if client is not None and isinstance(area, Circle) and area.center is None:
            self._followers.setdefault(client, set()).add(row)
        elif self._followers:
            self._unfollow(client, row)

    def next_row(self) -> int:
        """The row that the next `enter` takes."""
        return self._free[-1] if self._free else len(self._records)

    def enter(self, record: Record, value: Any, seat: int) -> int:
        """Give a subscription its row."""
        if self._free:
            row = self._free.pop()
            self._records[row] = record
        else:
            row = len(self._records)
            self._records.append(record)
            if row == len(self.values):
                self._grow(row // 2)
        self._rows[record.id] = row
        self.values[row] = value
        self.seats[row] = seat
        if record.client is not None:
            self._join_client(record.client, row)
        if isinstance(record.area, Circle) and record.area.center is None:
            self.set_area(row, record.area)
        return row

    def leave(self, row: int) -> None:
        """Free a row."""
        record = self.record(row)
        del self._rows[record.id]
        self._records[row] = None
        self.values[row] = None
        self.set_fenced(row, fenced=False)
        self._free.append(row)
        if record.client is not None:
            self._leave_client(record.client, row)
            self._unfollow(record.client, row)

    def set_fenced(self, row: int, *, fenced: bool) -> None:
        """Whether messages with a geofence reach this row wherever its client is."""
        self.fenced_count += int(fenced) - int(self.fenced[row])
        self.fenced[row] = fenced

    def _join_client(self, client: Hashable, row: int) -> None:
        rows = self._rows_of_client.get(client)
        if rows is None:
            self._rows_of_client[client] = row
        elif isinstance(rows, int):
            self._rows_of_client[client] = {rows, row}
        else:
            rows.add(row)

    def _leave_client(self, client: Hashable, row: int) -> None:
        rows = self._rows_of_client[client]
        if isinstance(rows, set):
            rows.remove(row)
        if isinstance(rows, int) or not rows:
            del self._rows_of_client[client]

    def _unfollow(self, client: Hashable | None, row: int) -> None:
        rows = self._followers.get(client)
        if rows is not None:
            rows.discard(row)
            if not rows:
                del self._followers[client]

    def _grow(self, more: int) -> None:
        self.values = np.concatenate([self.values, np.empty(more, dtype=np.object_)])
        self.seats = np.concatenate([self.seats, np.zeros(more, dtype=np.intp)])
        self.fenced = np.concatenate([self.fenced, np.zeros(more, dtype=np.bool_)])

"""The three checks on columns: which of these messages does which of these subscriptions get?

GeoBroker's order (Hasenburg and Bermbach, "GeoBroker: Leveraging geo-contexts for IoT data
distribution", 2020): content, consumer geofence, producer geofence. Messages are sorted by S2
cell, so a cell of a subscription's cover is one slice of them; what lies there is then tested
exactly, with the predicate that sessions use, except where that cannot change anything (`blocks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import shapely
import zenoh

from zonal.geo import EDGE_TOLERANCE_M, Circle
from zonal.pipeline.blocks import Blocks, Split
from zonal.pipeline.cells import cover_ranges
from zonal.pipeline.shapes import area_from_columns
from zonal.pipeline.times import micros
from zonal.pipeline.tracks import distances_m

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from zonal.geo import Area

MESSAGE_COLUMNS = (
    "id BIGINT, topic STRING, time TIMESTAMP, latitude DOUBLE, longitude DOUBLE, cell BIGINT, "
    "geofence BINARY, geofence_radius_m DOUBLE"
)
"""A table of messages, as SQL writes its columns; geofences as `area_to_columns` gives them."""
SUBSCRIPTION_COLUMNS = (
    "subscriber STRING, topic STRING, area BINARY, area_radius_m DOUBLE, latitude DOUBLE, "
    "longitude DOUBLE, since TIMESTAMP, until TIMESTAMP"
)
"""A table of subscriptions: the place is the subscriber's, null times stand for ever."""
Ranges = list[tuple[int, int]]
"""Ranges of leaf cells, both ends included."""
_ALWAYS = 1 << 62


class Pairs(NamedTuple):
    """Deliveries: message ids, all to one subscriber."""

    subscriber: str
    messages: NDArray[np.int64]


@dataclass(frozen=True)
class Wanted:
    """One subscription as the join needs it."""

    subscriber: str
    topic: str
    area: Area | None
    latitude: float | None
    longitude: float | None
    since_us: int
    until_us: int

    @property
    def is_limited(self) -> bool:
        """Whether it stood for a part of the time only."""
        return self.since_us > -_ALWAYS or self.until_us < _ALWAYS

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Wanted:
        """A row of a table of subscriptions."""
        return cls(
            row["subscriber"],
            row["topic"],
            area_from_columns(row["area"], row["area_radius_m"]),
            row["latitude"],
            row["longitude"],
            _micros(row["since"], -_ALWAYS),
            _micros(row["until"], _ALWAYS),
        )


class Messages:
    """Messages of one part of the world, sorted by cell."""

    def __init__(self, table: pa.Table) -> None:
        cells = table["cell"].fill_null(0).to_numpy()
        order = np.argsort(cells, kind="stable")
        table = table.take(pa.array(order))
        self.ids: NDArray[np.int64] = table["id"].to_numpy()
        self.times = table["time"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy()
        self._cells = cells[order]
        self._lats = table["latitude"].to_numpy()
        self._lons = table["longitude"].to_numpy()
        self._topics, self._topic_of = _coded(table["topic"])
        self._fences = _Fences(table["geofence"], table["geofence_radius_m"])
        self._blocks = Blocks(self._lats, self._lons)
        self._allowed: dict[str, NDArray[np.bool_]] = {}
        self._per_block: dict[str, NDArray[np.int64]] = {}

    def wanted_by(self, one: Wanted, ranges: Ranges) -> Pairs:
        """The messages that this subscription gets."""
        blocks, places = self._placed(one.area, ranges)
        found = np.concatenate([self._blocks.rows(blocks), places])
        found = found[self._content(one.topic)[self._topic_of[found]]]
        if one.is_limited:
            times = self.times[found]
            found = found[(times >= one.since_us) & (times < one.until_us)]
        if self._fences.any and len(found):
            found = found[self._fences.hold(found, one.latitude, one.longitude)]
        return Pairs(one.subscriber, self.ids[found])

    def count_for(self, one: Wanted, ranges: Ranges) -> int:
        """How many messages this subscription gets: of whole blocks without looking at each."""
        if one.is_limited or self._fences.any:
            return len(self.wanted_by(one, ranges).messages)
        blocks, places = self._placed(one.area, ranges)
        single = np.count_nonzero(self._content(one.topic)[self._topic_of[places]])
        return int(self._content_per_block(one.topic)[blocks].sum()) + int(single)

    def _placed(self, area: Area | None, ranges: Ranges) -> Split:
        """The second check: whole blocks in the area, and single messages in it."""
        blocks = self._touched(ranges)
        if area is None:
            return Split(blocks, np.zeros(0, np.int64))
        if isinstance(area, Circle):
            return self._blocks.inside(area, blocks)
        rows = self._blocks.rows(blocks)
        rows = rows[~np.isnan(self._lats[rows])]
        held = area.contains_many(self._lats[rows], self._lons[rows])
        return Split(np.zeros(0, np.int64), rows[held])

    def _touched(self, ranges: Ranges) -> NDArray[np.int64]:
        if not ranges:
            return np.arange(len(self._blocks.starts))
        low = np.searchsorted(self._cells, [low for low, _ in ranges], side="left")
        high = np.searchsorted(self._cells, [high for _, high in ranges], side="right")
        return self._blocks.touched(low, high)

    def _content_per_block(self, expression: str) -> NDArray[np.int64]:
        known = self._per_block.get(expression)
        if known is None:
            matching = self._content(expression)[self._topic_of].astype(np.int64)
            known = np.add.reduceat(matching, self._blocks.starts)
            self._per_block[expression] = known
        return known

    def _content(self, expression: str) -> NDArray[np.bool_]:
        """Which of the topics that occur here a key expression matches."""
        known = self._allowed.get(expression)
        if known is None:
            wanted = zenoh.KeyExpr(expression)
            matching = (wanted.intersects(zenoh.KeyExpr(topic)) for topic in self._topics)
            known = np.fromiter(matching, bool)
            self._allowed[expression] = known
        return known


class _Fences:
    """Producer geofences, asked for many messages and one consumer at a time."""

    def __init__(self, shapes: pa.ChunkedArray, radii: pa.ChunkedArray) -> None:
        self._fenced = shapes.is_valid().to_numpy()
        self.any = bool(self._fenced.any())
        if not self.any:
            return
        self._radii = radii.to_numpy()
        self._shapes = shapely.from_wkb(shapes.to_numpy(zero_copy_only=False))
        self._round = self._fenced & ~np.isnan(self._radii)
        self._lons, self._lats = shapely.get_x(self._shapes), shapely.get_y(self._shapes)

    def hold(
        self, found: NDArray[np.intp], lat: float | None, lon: float | None
    ) -> NDArray[np.bool_]:
        """Which of these messages have no fence, or one with the consumer inside."""
        held: NDArray[np.bool_] = ~self._fenced[found]
        if lat is None or lon is None:
            return held
        round_ = self._round[found]
        near = found[round_]
        away = distances_m(lat, lon, self._lats[near], self._lons[near])
        held[round_] = away <= self._radii[near] + EDGE_TOLERANCE_M
        angular = self._fenced[found] & ~round_
        held[angular] = shapely.intersects_xy(self._shapes[found[angular]], lon, lat)
        return held


def match(messages: pa.Table, subscriptions: pa.Table) -> pa.Table:
    """All deliveries between two tables, found in this process: message `id` and `subscriber`.

    The tables have the columns of `MESSAGE_COLUMNS` and `SUBSCRIPTION_COLUMNS`; subscriptions that
    bring their cover along have it in `ranges`.
    """
    there = Messages(messages)
    found = [there.wanted_by(*each) for each in _asked(messages, subscriptions)]
    names = pa.DictionaryArray.from_arrays(
        np.repeat(np.arange(len(found), dtype=np.int32), [len(one.messages) for one in found]),
        pa.array([one.subscriber for one in found], pa.string()),
    )
    ids = np.concatenate([np.zeros(0, np.int64), *(one.messages for one in found)])
    return pa.table({"id": pa.array(ids, pa.int64()), "subscriber": names.cast(pa.string())})


def match_counts(messages: pa.Table, subscriptions: pa.Table) -> pa.Table:
    """As `match`, but counted: each `subscriber` with a delivery, and the `count` of them."""
    there = Messages(messages)
    asked = _asked(messages, subscriptions)
    counts = [(one.subscriber, there.count_for(one, ranges)) for one, ranges in asked]
    return pa.table(
        {
            "subscriber": pa.array([name for name, count in counts if count], pa.string()),
            "count": pa.array([count for _, count in counts if count], pa.int64()),
        }
    )


def _asked(messages: pa.Table, subscriptions: pa.Table) -> Iterator[tuple[Wanted, Ranges]]:
    """The subscriptions with their covers; none where there is nothing to ask for."""
    for row in subscriptions.to_pylist() if messages.num_rows else ():
        one, known = Wanted.from_row(row), row.get("ranges")
        if known is None:
            yield one, cover_ranges(one.area)
        else:
            yield one, [(each["low"], each["high"]) for each in known]


def _coded(topics: pa.ChunkedArray) -> tuple[list[str], NDArray[np.int64]]:
    encoded = topics.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)


def _micros(moment: Any, otherwise: int) -> int:
    return otherwise if moment is None else micros(moment)

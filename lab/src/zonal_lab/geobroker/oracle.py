"""Recorded deliveries against the deliveries job on Spark, message by message.

The broker decides about a message at some moment between its sending and its acknowledgement, and
a client's move takes effect at some moment between its ping and the acknowledgement of its
subscription. So a delivery is *due* when the message and the subscriber's place agree whatever
these moments were: the job finds the subscription at both ends of the message's interval, valid
from its acknowledgement until the next ping. Where brokers work together, others decide as well,
and hear of moves and messages a little later: that long, both intervals are guarded.

Every recorded delivery is judged by the order in which the broker wrote to its receiver: what it
had acknowledged before the message (place and subscription) is what it knew when it decided, so a
delivery is *right* when the message's place lies within the radius of both. Others must at least be
*possible* (undecided): a place that the subscriber had at its own broker between the message's
sending and its arrival explains them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from zonal.geo import Circle, Point
from zonal.pipeline import area_to_columns, cell_ids, distances_m, match
from zonal_lab.geobroker.traveller import CONNECT, PING, PUBLISH, SUBSCRIBE
from zonal_lab.index import RADIUS_M, TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from zonal_lab.geobroker.journeys import Journey
    from zonal_lab.geobroker.travel import Travelled

    Join = Callable[[pa.Table, pa.Table], pa.Table]

_EPOCH_US = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1e6)
_STEPS = 1_000_000
_END_US = 1 << 52
# Within a ten-thousandth of a metre of the edge, two ways to compute a distance may differ.
_EDGE_M = 1e-4


@dataclass(frozen=True)
class Agreement:
    """How the recorded deliveries and the job's compare."""

    messages: int
    recorded: int
    due: int
    missing: int
    doubled: int
    right: int
    undecided: int
    impossible: int

    @property
    def holds(self) -> bool:
        """Whether they agree, message by message."""
        return self.missing == self.doubled == self.impossible == 0

    @property
    def decided(self) -> float:
        """The share of the recorded deliveries that were found right or wrong."""
        return (self.recorded - self.undecided) / self.recorded if self.recorded else 1.0


@dataclass(frozen=True)
class Places:
    """Where every client was, and from when to when for sure (µs); one row a place."""

    client: NDArray[np.int64]
    step: NDArray[np.int64]
    lat: NDArray[np.float64]
    lon: NDArray[np.float64]
    asked_us: NDArray[np.int64]
    """When it asked to be there: not before."""
    since_us: NDArray[np.int64]
    """From here on for sure, at every broker."""
    until_us: NDArray[np.int64]
    """When it asked to be elsewhere: until here for sure."""
    gone_us: NDArray[np.int64]
    """When its own broker knew that it was elsewhere: not after."""


@dataclass(frozen=True)
class Sent:
    """Every acknowledged message: who, which, where, and between which moments (µs)."""

    client: NDArray[np.int64]
    step: NDArray[np.int64]
    lat: NDArray[np.float64]
    lon: NDArray[np.float64]
    sent_us: NDArray[np.int64]
    done_us: NDArray[np.int64]

    @property
    def ids(self) -> NDArray[np.int64]:
        """A message's number: its sender and step in one."""
        return self.client * _STEPS + self.step


def check(travelled: Travelled, ways: list[Journey], join: Join, guard_s: float = 0.0) -> Agreement:
    """Compare; `guard_s` is how long a change may take to reach another broker."""
    guard_us = round(guard_s * 1e6)
    sent, places = _sent(travelled, ways, guard_us), _places(travelled, ways, guard_us)
    due = _due(sent, places, join)
    recorded, at, copies = np.unique(
        _pairs(travelled.deliveries), return_index=True, return_counts=True
    )
    received_us = _micros(travelled.deliveries[at, 4], travelled.start_ns)
    right = _right(travelled.deliveries[at], ways)
    rest = ~right & ~np.isin(recorded, due)
    impossible = _impossible(recorded[rest], received_us[rest], sent, places)
    return Agreement(
        messages=len(sent.ids),
        recorded=len(recorded),
        due=len(due),
        missing=len(np.setdiff1d(due, recorded)),
        doubled=int((copies - 1).sum()),
        right=int((~rest).sum()),
        undecided=int(rest.sum()) - impossible,
        impossible=impossible,
    )


def _right(deliveries: NDArray[np.int64], ways: list[Journey]) -> NDArray[np.bool_]:
    """Which deliveries fit what their receiver's broker had acknowledged before."""
    lat, lon = _where(ways, deliveries[:, 1:3])
    fits = np.ones(len(deliveries), np.bool_)
    for column in (5, 6):
        there = _where(ways, deliveries[:, (0, column)])
        fits &= distances_m(lat, lon, *there) <= RADIUS_M + _EDGE_M
    return fits


def spark_join(messages: pa.Table, subscriptions: pa.Table) -> pa.Table:
    """The deliveries job on Spark."""
    from zonal.pipeline.jobs import deliveries, open_spark

    spark = open_spark("local[2]", app="zonal-lab", conf={"spark.sql.shuffle.partitions": "4"})
    frames = (spark.createDataFrame(each) for each in (messages, subscriptions))
    return deliveries(*frames).toArrow()


def local_join(messages: pa.Table, subscriptions: pa.Table) -> pa.Table:
    """The job's own predicate in this process, for machines without Java."""
    return match(messages, subscriptions)


# ---- what was recorded --------------------------------------------------------------------


def _places(travelled: Travelled, ways: list[Journey], guard_us: int) -> Places:
    rows = travelled.operations
    # A client is at its first place when it connects (step -1), and again when it sets out.
    subscribed = _by_arrival(rows[rows[:, 2] == SUBSCRIBE])
    pings = _by_arrival(rows[(rows[:, 2] == PING) | (rows[:, 2] == CONNECT)])
    pings = pings[np.isin(_arrivals(pings), _arrivals(subscribed))]
    lat, lon = _where(ways, subscribed)
    asked = _micros(pings[:, 3], travelled.start_ns)
    known = _micros(subscribed[:, 4], travelled.start_ns)
    last = np.append(subscribed[1:, 0] != subscribed[:-1, 0], True)
    until, gone = np.roll(asked, -1), np.roll(known, -1)
    until[last] = gone[last] = _EPOCH_US + _END_US
    since = known + guard_us
    return Places(subscribed[:, 0], subscribed[:, 1], lat, lon, asked, since, until, gone)


def _arrivals(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Client and step as one number."""
    return rows[:, 0] * _STEPS + rows[:, 1]


def _sent(travelled: Travelled, ways: list[Journey], guard_us: int) -> Sent:
    rows = _by_arrival(travelled.operations[travelled.operations[:, 2] == PUBLISH])
    lat, lon = _where(ways, rows)
    begun, done = (_micros(rows[:, column], travelled.start_ns) for column in (3, 4))
    return Sent(rows[:, 0], rows[:, 1], lat, lon, begun, done + guard_us)


def _by_arrival(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return rows[np.lexsort((rows[:, 1], rows[:, 0]))]


def _where(
    ways: list[Journey], rows: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The places of clients (first column) at their steps (second); before the first: there."""
    lengths = np.array([len(way.at_s) for way in ways])
    begins = np.concatenate(([0], np.cumsum(lengths)))[:-1]
    client, step = rows[:, 0], np.maximum(rows[:, 1], 0)
    row = begins[client] + step % lengths[client]
    lat, lon = (np.concatenate([getattr(way, name) for way in ways]) for name in ("lats", "lons"))
    return lat[row], lon[row]


def _micros(moments_ns: NDArray[np.int64], start_ns: int) -> NDArray[np.int64]:
    return _EPOCH_US + (moments_ns - start_ns) // 1000


def _pairs(deliveries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Receiver, publisher and step as one number."""
    return _pair(deliveries[:, 0], deliveries[:, 1] * _STEPS + deliveries[:, 2])


def _pair(receiver: NDArray[np.int64], message: NDArray[np.int64]) -> NDArray[np.int64]:
    return (receiver << 40) + message


# ---- what is due --------------------------------------------------------------------------


def _due(sent: Sent, places: Places, join: Join) -> NDArray[np.int64]:
    """Deliveries that the job finds at both ends of a message's interval, at the same place."""
    messages = pa.concat_tables(
        [
            _message_table(sent, sent.ids * 2, sent.sent_us),
            _message_table(sent, sent.ids * 2 + 1, sent.done_us),
        ]
    )
    found = join(messages, _subscription_table(places))
    row = found["subscriber"].cast(pa.int64()).to_numpy()
    both = np.stack([found["id"].to_numpy() // 2, row])
    unique, counts = np.unique(both, axis=1, return_counts=True)
    message, row = unique[:, counts == 2]
    return np.unique(_pair(places.client[row], message))


def _message_table(sent: Sent, ids: NDArray[np.int64], at_us: NDArray[np.int64]) -> pa.Table:
    count = len(ids)
    return pa.table(
        {
            "id": ids,
            "topic": pa.repeat(TOPIC, count),
            "time": pa.array(at_us, pa.timestamp("us", tz="UTC")),
            "latitude": sent.lat,
            "longitude": sent.lon,
            "cell": cell_ids(sent.lat, sent.lon),
            "geofence": _centres(sent.lat, sent.lon),
            "geofence_radius_m": np.full(count, RADIUS_M),
        }
    )


def _subscription_table(places: Places) -> pa.Table:
    """One row a place; the subscriber's name is the row's number."""
    sure = np.flatnonzero(places.since_us < places.until_us)
    lat, lon = places.lat[sure], places.lon[sure]
    stamp = pa.timestamp("us", tz="UTC")
    return pa.table(
        {
            "subscriber": pa.array(sure).cast(pa.string()),
            "topic": pa.repeat(TOPIC, len(sure)),
            "area": _centres(lat, lon),
            "area_radius_m": np.full(len(sure), RADIUS_M),
            "latitude": lat,
            "longitude": lon,
            "since": pa.array(places.since_us[sure], stamp),
            "until": pa.array(places.until_us[sure], stamp),
        }
    )


def _centres(lats: NDArray[np.float64], lons: NDArray[np.float64]) -> pa.Array:
    circles = (Circle(Point(*each), radius_m=1.0) for each in zip(lats, lons, strict=True))
    return pa.array([area_to_columns(each)[0] for each in circles], pa.binary())


# ---- what is possible ---------------------------------------------------------------------


def _impossible(
    pairs: NDArray[np.int64], received_us: NDArray[np.int64], sent: Sent, places: Places
) -> int:
    """How many of these deliveries no place that the receiver had meanwhile can explain."""
    at = {int(each): row for row, each in enumerate(sent.ids.tolist())}
    first = {
        int(c): int(i) for c, i in zip(*np.unique(places.client, return_index=True), strict=True)
    }
    ends = np.searchsorted(places.client, places.client, side="right")
    wrong = 0
    for pair, arrived_us in zip(pairs.tolist(), received_us.tolist(), strict=True):
        receiver, message = pair >> 40, pair & ((1 << 40) - 1)
        row = at.get(message)
        begin = first.get(receiver)
        # A message whose acknowledgement never came, or a receiver that never moved.
        if row is None or begin is None:
            wrong += 1
            continue
        mine = slice(begin, int(ends[begin]))
        wrong += not _explained(sent, row, arrived_us, places, mine)
    return wrong


def _explained(sent: Sent, row: int, arrived_us: int, places: Places, mine: slice) -> bool:
    meanwhile = (places.asked_us[mine] <= arrived_us) & (places.gone_us[mine] >= sent.sent_us[row])
    away = distances_m(sent.lat[row], sent.lon[row], places.lat[mine], places.lon[mine])
    return bool((away[meanwhile] <= RADIUS_M + _EDGE_M).any())

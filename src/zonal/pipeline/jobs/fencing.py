"""Events at the border of zones, from a log: the same as a fence of a session tells live.

`zonal.border` computes them, thing by thing; on streams Spark keeps what it knows of each.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it
from pyspark.sql.streaming.state import GroupStateTimeout

from zonal.border import (
    Border,
    BorderPlan,
    FenceEvent,
    KeptThing,
    NotedPlace,
    ZoneSet,
    micros_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.state import GroupState

    from zonal.border import GivenZones

_FOUND = (
    "event STRING, thing STRING, zone STRING, at BIGINT, since BIGINT, latitude DOUBLE, "
    "longitude DOUBLE, previous_latitude DOUBLE, previous_longitude DOUBLE, reason STRING"
)
_COLUMNS = [each.split()[0] for each in _FOUND.split(", ")]


def fence_events(
    frame: DataFrame,
    zones: GivenZones,
    plan: BorderPlan,
    *,
    thing: str = "topic",
    time: str = "timestamp",
    until: datetime | None = None,
    watermark: str = "10 seconds",
) -> DataFrame:
    """Who came into a zone, left it, crossed it or stayed, a row each.

    Args:
        frame: messages with `latitude` and `longitude`, of a batch or of a stream; with `kind`,
            `delete` makes a thing leave; with `offset`, messages are taken in that order, and else
            by time.
        zones: see `Session.declare_fence`.
        plan: which events there are, and when.
        thing: the column that names a thing.
        time: the column with the time of a message.
        until: how long things are watched in a batch: until then, who stays dwells and who is
            silent leaves. Without it the last message of a thing is the end of its story.
        watermark: on a stream, how late messages may come: time passes that much later.

    Columns: `event`, `thing`, `zone`, `at`, `since`, `latitude`, `longitude`,
    `previous_latitude`, `previous_longitude`, `reason`.
    """
    given = ZoneSet.given(zones)
    end = None if until is None else micros_of(until)
    present = set(frame.columns)
    if frame.isStreaming:
        frame = frame.withWatermark(time, watermark)
    moment = F.unix_micros(F.col(time))
    placed = frame.where(F.col("latitude").isNotNull() & F.col(time).isNotNull()).select(
        F.col(thing).alias("thing"),
        *([F.col(time).alias("_time")] if frame.isStreaming else []),
        moment.alias("time"),
        (F.col("offset") if "offset" in present else moment).alias("order"),
        "latitude",
        "longitude",
        ((F.col("kind") == "delete") if "kind" in present else F.lit(False)).alias("deleted"),
    )

    def of_thing(rows: pd.DataFrame) -> pd.DataFrame:
        border = _border(given, plan)
        events = _told(border, rows)
        if end is not None:
            events += border.pass_time(end)
        return _rows(events)

    def of_state(
        key: tuple[Any, ...], parts: Iterator[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        name, border = key[0], _border(given, plan)
        if state.exists:
            border.take_up(name, KeptThing(*json.loads(state.get[0])))
        reached = state.getCurrentWatermarkMs()
        if state.hasTimedOut:
            events = border.pass_time(reached * 1000)
        else:
            events = _told(border, pd.concat(list(parts)))
        _remember(state, border, name, reached)
        yield _rows(events)

    if frame.isStreaming:
        found = placed.groupBy("thing").applyInPandasWithState(
            of_state, _FOUND, "kept STRING", "append", GroupStateTimeout.EventTimeTimeout
        )
    else:
        found = placed.groupBy("thing").applyInPandas(of_thing, _FOUND)
    times = {each: F.timestamp_micros(F.col(each)) for each in ("at", "since")}
    return found.withColumns(times)


@cache
def _index_of(zones: ZoneSet, plan: BorderPlan) -> Border:
    """Made once in every worker."""
    return Border(zones, plan)


def _border(zones: ZoneSet, plan: BorderPlan) -> Border:
    return _index_of(zones, plan).fresh()


def _told(border: Border, rows: pd.DataFrame) -> list[FenceEvent]:
    events: list[FenceEvent] = []
    places: list[NotedPlace] = []
    for row in rows.sort_values("order", kind="stable").itertuples(index=False):
        if row.deleted:
            events += border.update(places)
            places = []
            events += border.remove(row.thing, int(row.time))
        else:
            places.append(NotedPlace(row.thing, row.latitude, row.longitude, int(row.time)))
    return events + border.update(places)


def _remember(state: GroupState, border: Border, thing: str, reached_ms: int) -> None:
    kept = border.keep(thing)
    if kept is None:
        if state.exists:
            state.remove()
        return
    state.update((json.dumps(kept),))
    deadline = border.next_deadline
    if deadline is not None:
        state.setTimeoutTimestamp(max(deadline // 1000 + 1, reached_ms + 1))


def _rows(events: list[FenceEvent]) -> pd.DataFrame:
    return pd.DataFrame([_row(event) for event in events], columns=_COLUMNS).astype(
        {"at": "Int64", "since": "Int64"}
    )


def _row(event: FenceEvent) -> tuple[Any, ...]:
    place, before = event.location, event.previous
    return (
        event.kind,
        event.thing,
        event.zone,
        micros_of(event.at),
        None if event.since is None else micros_of(event.since),
        None if place is None else place.lat,
        None if place is None else place.lon,
        None if before is None else before.lat,
        None if before is None else before.lon,
        event.reason,
    )

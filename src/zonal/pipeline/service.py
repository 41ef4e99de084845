"""History as a queryable: `session.get("city/air/**?_time=[now(-1h)..]", area=…)` is answered.

A query without `_time` is not about the past and gets no answer from here.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from zonal.errors import DeclarationError, ZonalError
from zonal.geo import Point
from zonal.pipeline.selection import Selection
from zonal.pipeline.times import parse_time_range
from zonal.session import stamp_from_parts

if TYPE_CHECKING:
    import zenoh

    from zonal.geo import GivenArea
    from zonal.pipeline.history import History
    from zonal.session import Query, Session

_DIGITS = 18


@dataclass(frozen=True)
class ServiceCounters:
    """What was asked and answered."""

    queries: int = 0
    replies: int = 0
    truncated: int = 0
    refused: int = 0


class HistoryService:
    """Answers queries about the past, one after another, each with a limited number of replies."""

    def __init__(
        self,
        session: Session,
        history: History,
        topic: str = "**",
        *,
        area: GivenArea | None = None,
        max_replies: int = 100_000,
    ) -> None:
        self.history = history
        self.max_replies = max_replies
        self.counters = ServiceCounters()
        self._lock = threading.Lock()
        self._queryable = session.declare_queryable(topic, self._answer, area=area)

    def close(self) -> None:
        """Answer no more."""
        self._queryable.undeclare()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, query: Query) -> None:
        when = query.parameters.get("_time")
        if when is None:
            return
        self._count(queries=1)
        try:
            span = parse_time_range(when, datetime.now(UTC))
            limit = min(self.max_replies, _limit(query.parameters.get("_limit")))
            selection = Selection(query.key, query.area, span.since, span.until)
            sent = self._reply_all(query, selection, limit)
        except ZonalError as error:
            self._count(refused=1)
            query.reply_err(str(error))
            return
        self._count(replies=sent)

    def _reply_all(self, query: Query, selection: Selection, limit: int) -> int:
        sent = 0
        for batch in self.history.batches(selection, limit=limit + 1):
            for row in batch.to_pylist():
                if sent == limit:
                    self._count(truncated=1)
                    query.reply_err(
                        f"stopped after {limit} replies: ask for less time or a smaller area"
                    )
                    return sent
                _reply(query, row)
                sent += 1
        return sent

    def _count(self, **more: int) -> None:
        with self._lock:
            now = vars(self.counters)
            self.counters = replace(
                self.counters, **{name: now[name] + count for name, count in more.items()}
            )


def _reply(query: Query, row: dict[str, Any]) -> None:
    place = None if row["latitude"] is None else Point(row["latitude"], row["longitude"])
    if row["kind"] == "delete":
        query.reply_del(row["topic"], location=place, timestamp=stamp_of(row))
        return
    query.reply(
        row["topic"],
        row["payload"],
        location=place,
        content_encoding=row["encoding"],
        timestamp=stamp_of(row),
    )


def stamp_of(row: dict[str, Any]) -> zenoh.Timestamp | None:
    """Zenoh's time stamp of a row of the log."""
    if row["ntp64"] is None or not row["clock"]:
        return None
    return stamp_from_parts(row["ntp64"], row["clock"])


def _limit(text: str | None) -> int:
    if text is None:
        return 1 << 40
    if not text.isdecimal() or len(text) > _DIGITS or int(text) == 0:
        raise DeclarationError(f"_limit {text[:_DIGITS]!r} is no whole number above 0")
    return int(text)

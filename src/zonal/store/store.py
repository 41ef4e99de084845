"""The store: hears messages, keeps the newest of each thing, answers `get`."""

from __future__ import annotations

import contextlib
import logging
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from zenoh import KeyExpr

from zonal.errors import AttachmentError, StoreError, ZonalError
from zonal.geo import GivenArea, as_area
from zonal.keys import check_topic, encodings
from zonal.runtime import Overflow, close_all
from zonal.session import PastMessages, Recovery, ntp64_of
from zonal.store.nearest import Nearness, nearest_in
from zonal.store.opening import open_table
from zonal.store.others import Holding, OtherStores, is_news
from zonal.store.thing import By, StoredThing, cell_numbers, thing_of
from zonal.store.thing_filter import ThingFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from zonal.session import Query, Sample, Session, Subscriber
    from zonal.store.table import Name, Table

logger = logging.getLogger(__name__)

_WAITING = 250_000
_AT_A_TIME = 1000
_CATCH_UP_S = 30.0
_OVERLAP_S = 60.0
_SWEEP_S = 60.0
_DELETED_KEPT_S = 86_400.0
_AHEAD_S = 60.0
_PAUSES_S = [min(5.0, 0.1 * 2**tries) for tries in range(20)]


@dataclass(frozen=True)
class StoreCounters:
    """What happened so far."""

    received: int = 0
    kept: int = 0
    """Written and durable: a newer message took the place of each thing's older one."""
    unstamped: int = 0
    """Without a time stamp: they got that of their arrival here, another one in every store."""
    malformed: int = 0
    ahead: int = 0
    """With a time stamp from the future: nothing that follows would be newer."""
    overflowed: int = 0
    asked: int = 0
    replies: int = 0
    caught_up: int = 0
    """Things that other stores knew."""
    handed_over: int = 0
    """Things that went to another store's area."""


class Store:
    """Keeps the newest value of each thing under some keys, and answers questions about them.

    Args:
        session: what it hears and answers through.
        topics: key expressions; one, or several.
        area: keep only what is in there; None: all, things without a place too.
        data: a folder; `postgresql://…`; None: kept until it is closed, and no longer.
        by: what a thing is: its `key`, or key and `source`, or key and `place`.
        ttl_s: how long a value is answered after its time stamp.

    What it answers is durable: it is there after `kill -9`, too. When it starts, and whenever
    another store comes, it asks others for what they have heard since its own newest value.
    """

    def __init__(
        self,
        session: Session,
        topics: str | Sequence[str] = "**",
        *,
        area: GivenArea | None = None,
        data: str | Path | None = None,
        by: str | By = By.KEY,
        ttl_s: float | None = None,
    ) -> None:
        self.topics = tuple(map(check_topic, [topics] if isinstance(topics, str) else topics))
        self._expressions = [KeyExpr(topic) for topic in self.topics]
        self.area = None if area is None else as_area(area)
        self.by = _by_named(by)
        if ttl_s is not None and not ttl_s > 0:
            raise StoreError(f"values are kept for more than 0 seconds, not for {ttl_s}")
        self.ttl_s = ttl_s
        self._session = session
        self._scratch = contextlib.ExitStack()
        if data is None:
            data = self._scratch.enter_context(tempfile.TemporaryDirectory())
        self.table: Table = open_table(data)
        self._lock = threading.Lock()
        self._counters = StoreCounters()
        self._since = self.table.newest()
        self._wake = threading.Event()
        self._closed = threading.Event()
        self._come = False
        names = None if self.area is None else [each.name for each in encodings(self.area)]
        self._subscribers = [self._subscribe(topic, names) for topic in self.topics]
        self._others = OtherStores(
            session.zenoh,
            self.topics,
            has_area=self.area is not None,
            on_come=self._another_came,
            on_held=self._let_go,
        )
        self._threads = [
            threading.Thread(target=self._keep, args=(one,), name="zonal-store", daemon=True)
            for one in self._subscribers
        ]
        self._threads.append(
            threading.Thread(target=self._look_after, name="zonal-store-care", daemon=True)
        )
        for thread in self._threads:
            thread.start()
        self._queryables = [
            session.declare_queryable(topic, self._answer, area=self.area, encoding=names)
            for topic in self.topics
        ]

    def _subscribe(self, topic: str, names: list[str] | None) -> Subscriber:
        return self._session.declare_subscriber(
            topic,
            area=self.area,
            encoding=names,
            fenced=True,
            capacity=_WAITING,
            overflow=Overflow.DROP_OLDEST,
            history=PastMessages(),
            recovery=Recovery(),
        )

    # What a user sees

    @property
    def counters(self) -> StoreCounters:
        """What happened so far."""
        counted = [one.counters for one in self._subscribers]
        with self._lock:
            return replace(
                self._counters,
                received=sum(one.received for one in counted),
                overflowed=sum(one.overflowed for one in counted),
            )

    @property
    def declared_keys(self) -> tuple[str, ...]:
        """The key expressions under which it answers."""
        return tuple(key for each in self._queryables for key in each.declared_keys)

    def __len__(self) -> int:
        return len(self.table)

    def find(self, key: str, area: GivenArea | None = None) -> list[StoredThing]:
        """The things under a key expression, in an area, as they are kept here."""
        return list(self.table.find(self._wanted(key, area)))

    def close(self) -> None:
        """Answer no more, keep what has arrived, let go of the data."""
        if self._closed.is_set():
            return
        self._closed.set()
        close_all(each.undeclare for each in self._queryables)
        close_all(each.undeclare for each in self._subscribers)
        self._others.close()
        self._wake.set()
        for thread in self._threads:
            thread.join()
        self.table.close()
        self._scratch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Keeping

    def _keep(self, subscriber: Subscriber) -> None:
        for samples in subscriber.batches():
            for start in range(0, len(samples), _AT_A_TIME):
                self._take_in_time(samples[start : start + _AT_A_TIME])

    def _take_in_time(self, samples: Sequence[Sample]) -> None:
        """Keep these, again and again while the table cannot be written; the mailbox fills then."""
        for pause in _PAUSES_S:
            try:
                self._take(samples)
            except StoreError as error:
                logger.warning("%d messages wait to be kept: %s", len(samples), error)
                if self._closed.wait(pause):
                    break
            else:
                return
        logger.error("%d messages could not be kept", len(samples))

    def _take(self, samples: Sequence[Sample]) -> None:
        """Keep the newest of each thing; what is deleted by a wildcard is many things."""
        newest: dict[Name, StoredThing] = {}
        for thing in self._read(samples):
            for each in self._meant(thing) if "*" in thing.key else (thing,):
                known = newest.get(each[:2])
                if known is None or known.stamp < each.stamp:
                    newest[each[:2]] = each
        self._write(list(newest.values()))

    def _read(self, samples: Sequence[Sample]) -> Iterator[StoredThing]:
        """What is kept of messages; what cannot be, or is stamped in the future, is counted."""
        last = _last_stamp()
        cells = cell_numbers([sample.place for sample in samples])
        for sample, cell in zip(samples, cells, strict=True):
            stamp = sample.timestamp
            if stamp is None:
                stamp = self._session.zenoh.new_timestamp()
                self._count(unstamped=1)
            try:
                thing = thing_of(sample, self.by, stamp, cell)
            except AttachmentError:  # a source that cannot be read
                self._count(malformed=1)
                continue
            if thing.ntp64 > last:
                self._count(ahead=1)
            else:
                yield thing

    def _meant(self, thing: StoredThing) -> list[StoredThing]:
        """The things that a message under a key with wildcards is about: deletes those it names."""
        if not thing.deleted:
            return []
        found = self.table.find(ThingFilter(thing.key))
        return [
            thing._replace(key=each.key, part=each.part)
            for each in found
            if each.stamp < thing.stamp
        ]

    def _write(self, things: list[StoredThing]) -> None:
        if not things:
            return
        news: list[StoredThing] = []
        if self._others.want_to_know:
            known = self.table.named(each[:2] for each in things)
            news = [each for each in things if is_news(each, known.get(each[:2]))]
        self.table.write(things)
        self._count(kept=len(things))
        self._others.tell(news)

    def _let_go(self, holding: Holding) -> None:
        """Another store has a thing of ours that has left our area."""
        if (
            self.area is not None
            and holding.place is not None
            and self.area.contains(holding.place)
        ):
            return  # we hear of it ourselves
        name = (holding.key, holding.part)
        try:
            ours = self.table.named([name]).get(name)
            if (
                ours is None
                or ours.stamp >= (holding.ntp64, holding.clock)
                or holding.ntp64 > _last_stamp()
            ):
                return
            self.table.write([holding.taking(ours)])
        except StoreError as error:
            logger.warning("%s has left, and is still kept: %s", holding.key, error)
            return
        self._count(handed_over=1)

    # Looking after it

    def _another_came(self) -> None:
        self._come = True
        self._wake.set()

    def _look_after(self) -> None:
        sweep_at = time.monotonic()
        while not self._closed.is_set():
            self._wake.clear()
            if self._come:
                self._come = False
                self._catch_up()
            if time.monotonic() >= sweep_at:
                self._sweep()
                sweep_at = time.monotonic() + min(_SWEEP_S, self.ttl_s or _SWEEP_S)
            self._wake.wait(max(0.0, sweep_at - time.monotonic()))

    def _catch_up(self) -> None:
        """Ask other stores for what they heard after our newest value, and a little before."""
        since = max(0, self._since - (int(_OVERLAP_S) << 32))
        self._since = ntp64_of(time.time_ns() // 1000)
        for topic in self.topics:
            try:
                replies = self._session.get(
                    f"{topic}?_since={since};_store={self._others.id}", timeout=_CATCH_UP_S
                )
                for reply in replies:
                    self._take_over(reply)
            except ZonalError as error:
                if not self._closed.is_set():
                    logger.warning("could not catch up with other stores: %s", error)

    def _take_over(self, reply: Sample) -> None:
        for thing in self._read([] if reply.timestamp is None else [reply]):
            if self.area is None or _is_in(self.area, thing):
                self.table.write([thing])
                self._count(caught_up=1)
            else:
                place = None if thing.deleted else reply.location
                self._let_go(Holding(thing.key, thing.part, thing.ntp64, thing.clock, place))

    def _sweep(self) -> None:
        now = time.time()
        with contextlib.suppress(StoreError):
            if self.ttl_s is not None:
                self.table.forget(_ntp64(now - self.ttl_s), deleted=False)
            self.table.forget(_ntp64(now - _DELETED_KEPT_S), deleted=True)

    # Answering

    def _answer(self, query: Query) -> None:
        parameters = query.parameters
        if parameters.get("_time") is not None or parameters.get("_store") == self._others.id:
            return  # about the past, which a history knows; or our own question
        self._count(asked=1)
        replies = 0
        asked = KeyExpr(query.key)
        all_ours = any(topic.includes(asked) for topic in self._expressions)
        try:
            for each in self._found(query):
                if all_ours or self._is_ours(each):
                    each.reply_to(query)
                    replies += 1
        except StoreError as error:
            query.reply_err(str(error))
        self._count(replies=replies)

    def _found(self, query: Query) -> Iterable[StoredThing]:
        """What a question is about: by keys and area, since a time, or the nearest."""
        wanted = self._wanted(query.key, query.area)
        near = Nearness.of(query.parameters)
        if near is not None:
            return nearest_in(self.table, wanted, near)
        since = query.parameters.get("_since")
        if since is None:
            return self.table.find(wanted)
        newer = int(since[:19]) if since.isdecimal() else 0
        return self.table.find(
            replace(wanted, deleted=True, newer_than=max(wanted.newer_than, newer))
        )

    def _wanted(self, key: str, area: GivenArea | None) -> ThingFilter:
        oldest = -1 if self.ttl_s is None else _ntp64(time.time() - self.ttl_s)
        return ThingFilter(key, None if area is None else as_area(area), oldest)

    def _is_ours(self, thing: StoredThing) -> bool:
        """A table may hold what an earlier store with other topics has left in it."""
        key = KeyExpr(thing.key)
        return any(topic.intersects(key) for topic in self._expressions)

    def _count(self, **more: int) -> None:
        with self._lock:
            now = vars(self._counters)
            self._counters = replace(
                self._counters, **{name: now[name] + count for name, count in more.items()}
            )


def _by_named(by: str | By) -> By:
    try:
        return By(by)
    except ValueError as error:
        names = ", ".join(each.value for each in By)
        raise StoreError(f"a thing is told apart by one of {names}, not {by!r}") from error


def _is_in(area: object, thing: StoredThing) -> bool:
    return bool(ThingFilter(thing.key, area).sift([thing]))  # type: ignore[arg-type]


def _last_stamp() -> int:
    """The time of a stamp that is as far ahead as clocks may differ."""
    return _ntp64(time.time() + _AHEAD_S)


def _ntp64(seconds: float) -> int:
    return ntp64_of(int(seconds * 1_000_000))

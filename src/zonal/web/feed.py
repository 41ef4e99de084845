"""Live selections and their readers: one subscriber for all streams that want the same."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from zonal.border import FenceEvent
from zonal.errors import ClosedError
from zonal.web.grants import ANYBODY
from zonal.web.metrics import encoding_of_key, label_of_encodings
from zonal.web.presentation import border_event, event, fence_to_dict, name_of_thing, to_event
from zonal.web.problem import Problem
from zonal.web.stream import HEARTBEAT, Stream, framed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from zonal.border import BorderPlan
    from zonal.geo import Area, Point
    from zonal.session import Fence, Sample, Session, Subscriber
    from zonal.web.grants import Asked, WebGrant
    from zonal.web.meter import Meter
    from zonal.web.metrics import Metrics
    from zonal.web.options import WebLimits
    from zonal.web.visitors import Visitor

logger = logging.getLogger(__name__)

HEARTBEAT_S = 15.0
_TICK_S = 1.0
_BATCH = 256
_LATER = ((b"retry-after", b"10"),)


class FeedSelection(NamedTuple):
    """What a stream wants to hear; streams with equal selections share a feed."""

    key: str
    area: Area | None
    encodings: tuple[str, ...]
    fenced: bool
    detect: BorderPlan | None = None
    """Events at the area's border instead of messages."""
    grant: WebGrant = ANYBODY
    """What its readers may see."""
    asked: Asked | None = None
    """What they asked for, where that matters for what they may see."""
    thing: str = ""
    """At a border, the member of JSON values by which things of one key are told apart."""

    @property
    def label(self) -> str:
        """The encodings that counters show."""
        return label_of_encodings(self.encodings, self.area)


class Reader(NamedTuple):
    """Who reads a stream: what it may, and from which address."""

    grant: WebGrant
    visitor: Visitor


class Feed:
    """One subscriber of the session, its streams, and the task that writes events for them.

    An event is encoded once and given to every stream.
    """

    def __init__(
        self, selection: FeedSelection, subscriber: Subscriber | Fence, metrics: Metrics
    ) -> None:
        self.selection = selection
        self.subscriber = subscriber
        self.streams: set[Stream] = set()
        self.events = 0
        self._metrics = metrics
        self._counted = self.subscriber.counters
        self.task = asyncio.create_task(self._run(), name=f"feed {selection.key}")

    async def _run(self) -> None:
        """Batches with a pause between them, so that a flood does not silence everyone else."""
        handed = 0
        async for given in self.subscriber:
            item = self._seen(given)
            if item is None:
                continue
            sample = item.sample if isinstance(item, FenceEvent) else item
            if sample is not None:
                key = str(sample.zenoh.key_expr)
                self._metrics.count_topic("zonal_matches", self.selection.key, encoding_of_key(key))
            self.events += 1
            data = border_event(item) if isinstance(item, FenceEvent) else to_event(item)
            chunk = framed(data)
            for stream in self.streams:
                if stream.hears(sample):
                    stream.offer(data, chunk)
            handed += 1
            if handed % _BATCH == 0:
                await asyncio.sleep(0)

    def _seen(self, item: FenceEvent | Sample) -> FenceEvent | Sample | None:
        """What came, as the readers may see it."""
        grant, asked = self.selection.grant, self.selection.asked
        if asked is None:
            return item
        if isinstance(item, FenceEvent):
            return grant.sees_event(asked, item)
        return grant.sees(asked, item)

    def received_since(self) -> int:
        """What reached the session for this topic since the last call; other counts are kept."""
        now, before = self.subscriber.counters, self._counted
        self._counted = now
        topic, label = self.selection.key, self.selection.label
        filtered = now.filtered_at_edge - before.filtered_at_edge
        overflowed = now.overflowed - before.overflowed
        if filtered > 0:
            self._metrics.count_topic("zonal_edge_filtered", topic, label, filtered)
        if overflowed:
            self._metrics.count_topic("zonal_overflow", topic, label, overflowed)
        return now.received - before.received

    def counters(self, stream: Stream) -> dict[str, int]:
        """What happened to the messages of this selection, and to those of one reader."""
        counters = self.subscriber.counters
        return {
            "received": counters.received,
            "matched": self.events,
            "filtered_at_edge": max(0, counters.filtered_at_edge),
            "outside_fence": stream.fenced_out,
            "dropped": stream.dropped + counters.overflowed,
        }


class Feeds:
    """All feeds of a server; everything here runs on its event loop, declaring in threads."""

    def __init__(
        self, session: Session, limits: WebLimits, metrics: Metrics, meter: Meter | None = None
    ) -> None:
        self._session = session
        self._meter = meter
        self._limits = limits
        self._metrics = metrics
        self._feeds: dict[FeedSelection, Feed] = {}
        self._declaring = asyncio.Lock()
        self._wants_counters: set[Stream] = set()
        self._opened = 0
        self._closed = False
        self._ticker: asyncio.Task[None] | None = None
        metrics.gauges["zonal_streams"] = lambda: self.stream_count
        metrics.gauges["zonal_feeds"] = lambda: len(self._feeds)
        metrics.before_reading = self.collect

    @property
    def stream_count(self) -> int:
        """How many streams are open."""
        return self._opened

    def start(self) -> None:
        """Begin with heartbeats and the search for stalled readers."""
        self._ticker = asyncio.create_task(self._tick(), name="feeds")

    @contextlib.asynccontextmanager
    async def open(
        self,
        selection: FeedSelection,
        own: Point | None,
        reader: Reader,
        *,
        counters: bool = False,
        said: str = "",
    ) -> AsyncIterator[Stream]:
        """A stream of the selection; `own` is where its reader stands, for geofences.

        What is `said` about the selection stands in its first event.
        """
        most = self._limits.streams_per_address
        with reader.visitor.holding("streams", most), reader.visitor.selecting(selection):
            feed, stream = await self._open(selection, own, reader)
            try:
                stream.offer(event("ready", _about(feed, said)))
                if counters:
                    self._wants_counters.add(stream)
                    stream.offer(self._counters(feed, stream))
                yield stream
            finally:
                await asyncio.shield(self._release(stream))

    async def _open(
        self, selection: FeedSelection, own: Point | None, reader: Reader
    ) -> tuple[Feed, Stream]:
        if self._closed:
            raise Problem(503, "the server is shutting down")
        if self._opened >= self._limits.streams:
            in_use = f"all {self._limits.streams} event streams of this server are in use"
            raise Problem(503, in_use, _LATER)
        self._opened += 1
        try:
            async with reader.visitor.turn:
                feed = await self._feed(selection)
        except BaseException:
            self._opened -= 1
            raise
        stream = Stream(self._limits, own, asyncio.get_running_loop().time())
        stream.feed, stream.grant = feed, reader.grant
        feed.streams.add(stream)
        return feed, stream

    async def _feed(self, selection: FeedSelection) -> Feed:
        # A feed leaves the dictionary in the same step in which its last stream is gone, so one
        # that is found here is alive; the lock only keeps two from declaring the same.
        if selection in self._feeds:
            return self._feeds[selection]
        async with self._declaring:
            if selection in self._feeds:
                return self._feeds[selection]
            if len(self._feeds) >= self._limits.feeds:
                in_use = f"all {self._limits.feeds} different selections of this server are in use"
                raise Problem(503, in_use, _LATER)
            subscriber = await asyncio.to_thread(self._declare, selection)
            feed = self._feeds[selection] = Feed(selection, subscriber, self._metrics)
            return feed

    def _declare(self, selection: FeedSelection) -> Subscriber | Fence:
        plan = selection.detect
        if plan is not None:
            assert selection.area is not None
            return self._session.declare_fence(
                selection.key,
                selection.area,
                on=plan.on,
                dwell_s=plan.dwell_s,
                hysteresis_m=plan.hysteresis_m,
                silence_s=plan.silence_s,
                encoding=selection.encodings or None,
                name_of=partial(name_of_thing, member=selection.thing) if selection.thing else None,
            )
        return self._session.declare_subscriber(
            selection.key,
            area=selection.area,
            encoding=selection.encodings or None,
            fenced=selection.fenced,
        )

    async def _release(self, stream: Stream) -> None:
        """Forget a reader that has gone; after the last one of a feed nothing is subscribed to."""
        self._opened -= 1
        self._wants_counters.discard(stream)
        self._count(stream)
        feed = stream.feed
        assert isinstance(feed, Feed)
        feed.streams.discard(stream)
        if not feed.streams and self._feeds.get(feed.selection) is feed:
            self.collect()
            del self._feeds[feed.selection]
            await self._undeclare(feed)

    @staticmethod
    async def _undeclare(feed: Feed) -> None:
        await asyncio.to_thread(feed.subscriber.undeclare)
        try:
            await feed.task
        except ClosedError:
            pass
        except Exception:
            logger.exception("the feed of %s failed", feed.selection.key)

    def collect(self) -> None:
        """Bring the counters of all subscribers up to date.

        Subscribers of a topic share what the session receives for it, so each of them reports
        the same messages: the greatest increase is the topic's.
        """
        received: dict[str, tuple[int, str]] = {}
        for feed in self._feeds.values():
            count, label = feed.received_since(), feed.selection.label
            topic = feed.selection.key
            received[topic] = max(received.get(topic, (0, label)), (count, label))
            for stream in feed.streams:
                self._count(stream)
        for topic, (count, label) in received.items():
            if count:
                self._metrics.count_topic("zonal_messages", topic, label, count)

    def _count(self, stream: Stream) -> None:
        written, dropped = stream.uncounted()
        self._metrics.count("zonal_stream_events", by=written)
        self._metrics.count("zonal_stream_dropped", by=dropped)

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_TICK_S)
            now = loop.time()
            for feed in list(self._feeds.values()):
                for stream in list(feed.streams):
                    self._look_after(feed, stream, now)

    def _look_after(self, feed: Feed, stream: Stream, now: float) -> None:
        life = self._limits.stream_seconds
        if life and now - stream.opened_at > life:
            stream.close()
        elif now - stream.read_at > self._limits.stalled_seconds and len(stream):
            self._metrics.count("zonal_streams_stalled")
            stream.abort()
        elif stream in self._wants_counters:
            stream.offer(self._counters(feed, stream))
        elif stream.quiet_for(now) > HEARTBEAT_S and not len(stream):
            stream.offer(HEARTBEAT)

    def _counters(self, feed: Feed, stream: Stream) -> bytes:
        """Counts of one moment, in the stream behind the last message that they count."""
        counts = feed.counters(stream)
        if self._meter is not None:
            counts["published"] = self._meter.published
        return event("counters", counts)

    async def close(self) -> None:
        """End all streams; their readers see a clean end."""
        self._closed = True
        if self._ticker is not None:
            self._ticker.cancel()
        self.end(lambda _: True)

    def end(self, is_over: Callable[[WebGrant], bool]) -> None:
        """End the streams whose readers' grants are over."""
        for feed in list(self._feeds.values()):
            for stream in list(feed.streams):
                if is_over(stream.grant):
                    stream.close()


def _about(feed: Feed, said: str) -> dict[str, object]:
    area = feed.selection.area
    return {
        "key": feed.selection.key,
        "area": None if area is None else fence_to_dict(area),
        "declared": list(feed.subscriber.declared_keys),
        **({"narrowed": said} if said else {}),
    }

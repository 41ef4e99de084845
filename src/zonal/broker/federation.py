"""Many brokers as one: each is a location-aware Zenoh session for all of its clients.

What clients publish goes out under location keys; what they want is declared as a bounded union.
Zenoh's threads and calls stay here: sending and declaring have a thread each, and what arrives is
handed to the event loop in batches.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import queue
import secrets
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Self

import zenoh

import zonal.session
from zonal.broker.envelope import Arrived, seal, unseal
from zonal.broker.geocontext import ATTESTED, NOWHERE, with_location
from zonal.broker.group_tokens import GroupTokens
from zonal.broker.interest import ClientsInterest
from zonal.broker.keymap import check_topic, fits, key_of_topic, topic_of_key
from zonal.broker.message import Message
from zonal.broker.retained_elsewhere import RetainedElsewhere
from zonal.broker.topics import valid_topic
from zonal.broker.zenoh_encoding import describe, encoding_of
from zonal.errors import AttachmentError, BrokerError, NetworkError, ZonalError
from zonal.runtime import Recent
from zonal.trust import ReplayGuard

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.broker.core import Broker
    from zonal.broker.server import Server
    from zonal.session import Gathering, Sample

logger = logging.getLogger(__name__)

WAITING_OUT = 50_000
WAITING_IN = 50_000
BATCH = 256
DECLARE_EVERY = 0.05
"""Seconds in which changes of interest are collected before they are declared."""


class Federation:
    """Connects one broker to Zenoh; use as an asynchronous context manager."""

    def __init__(
        self, broker: Broker, server: Server, config: zenoh.Config, secret: bytes = b"",
        *, insecure: bool = False,
    ) -> None:  # fmt: skip
        self._open = functools.partial(zonal.session.open, config, insecure=insecure)
        self._secret = secret
        self._broker = broker
        self._server = server
        self._id = secrets.randbits(64)
        self.interest = ClientsInterest()
        self._outgoing: queue.Queue[Callable[[], None] | None] = queue.Queue(WAITING_OUT)
        self._arrived: deque[Sample] = deque()
        self._draining = False
        # With a secret a broker's numbers are its own; without it anybody may use them.
        self._numbers: ReplayGuard[int] = ReplayGuard()
        self._digests: Recent[bytes] = Recent()
        self._gathering: Gathering
        self._declaring: asyncio.Task[None] | None = None
        self._sender: threading.Thread | None = None
        self._session: zonal.session.Session
        self._retained: RetainedElsewhere
        self._loop: asyncio.AbstractEventLoop
        self.overflowed = 0
        """Messages that came or went faster than they could be handled."""

    @property
    def declared_keys(self) -> frozenset[str]:
        """The key expressions that are declared now."""
        return self._gathering.keys

    async def __aenter__(self) -> Self:
        """Joins; the clients' interest follows as it changes."""
        self._loop = asyncio.get_running_loop()
        try:
            self._session = await asyncio.to_thread(self._open)
        except NetworkError as error:
            raise BrokerError(f"cannot join Zenoh: {error}") from error
        self._gathering = self._session.gather(self._arrive)
        for session in self._broker.sessions.values():
            for subscription in session.subscriptions.values():
                self.interest.added(subscription)
        self._broker.matching.watchers.append(self.interest)
        self._broker.distributor.on_publish = self._publish
        self._share = GroupTokens(
            self._broker, self._session.zenoh, self._id, self._in_loop,
            secret=self._secret, now=self._server.clock(),
        )  # fmt: skip
        self._retained = RetainedElsewhere(
            self._broker, self._session.zenoh, in_loop=self._in_loop, in_thread=self._in_thread,
            clock=self._server.clock, secret=self._secret,
        )  # fmt: skip
        self._broker.on_retained_wanted = self._retained.ask
        self._sender = threading.Thread(target=self._send, name="federation", daemon=True)
        self._sender.start()
        self._declaring = asyncio.create_task(self._declare())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leaves: what waits is still sent."""
        self._broker.distributor.on_publish = None
        self._broker.on_retained_wanted = None
        self._broker.matching.watchers.remove(self.interest)
        self._share.close()
        if self._declaring is not None:
            self._declaring.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._declaring
        with contextlib.suppress(queue.Full):
            self._outgoing.put_nowait(None)
        if self._sender is not None:
            await asyncio.to_thread(self._sender.join, 5)
        await asyncio.to_thread(self._session.close)

    # From our clients to others.

    def _publish(self, message: Message) -> None:
        """Called for every message of a client of ours; `$…` and endless topics stay at home."""
        if message.topic.startswith("$") or not fits(key_of_topic(message.topic)):
            return
        if self._in_thread(lambda: self._put(message, message.serial)):
            self._broker.counters.remote_sent += 1
            if message.retain and not self._broker.is_shared:
                self._retained.changed(message)
        else:
            self._broker.counters.dropped += 1

    def _in_thread(self, job: Callable[[], None]) -> bool:
        """Hands something that may block to the sending thread; False where too much waits."""
        try:
            self._outgoing.put_nowait(job)
        except queue.Full:
            self.overflowed += 1
            return False
        return True

    def _in_loop(self, job: Callable[[], None]) -> None:
        """Runs something of another thread's in the event loop, and sends what comes of it."""

        def run() -> None:
            job()
            self._server.schedule()

        with contextlib.suppress(RuntimeError):  # the loop is closing
            self._loop.call_soon_threadsafe(run)

    def _send(self) -> None:
        """The sending thread: a held-up link holds up this thread and nobody else."""
        while (job := self._outgoing.get()) is not None:
            try:
                job()
            except (ZonalError, zenoh.ZError) as error:
                logger.warning("a message was not sent on: %s", error)
            except Exception:
                logger.exception("the sending thread goes on after an error")

    def _put(self, message: Message, number: int) -> None:
        key, reliable = key_of_topic(message.topic), message.qos > 0
        options: dict[str, Any] = {
            "location": message.location,
            "geofence": message.geofence,
            "fence_cells": 1,  # brokers are few, and one that hears in vain only looks at it
            "attested": message.attested_fence is not None,
            "attachment": seal(message, self._id, number, self._server.clock(), self._secret),
            "congestion_control": (
                zenoh.CongestionControl.BLOCK if reliable else zenoh.CongestionControl.DROP
            ),
        }
        if message.retain and not message.payload:
            self._session.delete(key, **options)  # stores forget it, as brokers do
            return
        content = encoding_of(message)
        self._session.put(key, message.payload, content_encoding=content, **options)

    # What our clients want from others.

    async def _declare(self) -> None:
        """Follows the clients' interest; many changes at once make one difference to declare."""
        done = -1
        while True:
            pause = DECLARE_EVERY
            if changes := self._share.changes(self._server.clock()):
                await asyncio.to_thread(self._share.announce, changes)
            if self.interest.changes != done:
                done = self.interest.changes
                start = time.perf_counter()
                wanted = self.interest.keys()
                # Thousands of filters that change all the time may take a tenth of the loop.
                pause = max(pause, 10 * (time.perf_counter() - start))
                await asyncio.to_thread(self._gathering.adjust, wanted)
            await asyncio.sleep(pause)

    # From others to our clients.

    def _arrive(self, samples: list[Sample]) -> None:
        """On the session's reading thread: nothing but a place in the queue."""
        room = WAITING_IN - len(self._arrived)
        self.overflowed += max(len(samples) - room, 0)
        self._arrived.extend(samples[:room])
        if not self._draining:
            self._draining = True
            with contextlib.suppress(RuntimeError):  # the loop is closing
                self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        self._draining = False
        now = self._server.clock()
        arrived = self._arrived
        for _ in range(min(BATCH, len(arrived))):
            self._deliver(arrived.popleft(), now)
        if arrived and not self._draining:
            self._draining = True
            self._loop.call_soon(self._drain)
        self._server.schedule()

    def _deliver(self, sample: Sample, now: float) -> None:
        try:
            message = self._message_of(sample, now)
        except (ZonalError, UnicodeDecodeError) as error:
            logger.warning("a message from elsewhere is dropped: %s", error)
            return
        if message is not None:
            self._broker.counters.remote_received += 1
            if message.retain and not message.payload:
                self._broker.retained.forget(message.topic, now)
            self._broker.distributor.deliver(message, now)

    def _message_of(self, sample: Sample, now: float) -> Message | None:
        """The message for our clients; None where it is a broker's and came before."""
        payload = sample.payload.to_bytes()
        arrived = unseal(
            sample.attachment, payload, sample.location, sample.geofence,
            now=now, secret=self._secret,
        )  # fmt: skip
        if arrived is None:
            message = _from_zenoh(sample, payload)
        else:
            message = arrived.message
            check_topic(message.topic, sample.key)
            message.serial = arrived.number
        if not valid_topic(message.topic, self._broker.settings.limits.maximum_levels):
            raise AttachmentError(f"{message.topic[:80]!r} is no topic for MQTT clients")
        if arrived is not None and not self._is_news(arrived):
            return None
        return message

    def _is_news(self, arrived: Arrived) -> bool:
        """A broker's message may come again with another time stamp, or be played again."""
        if self._secret:
            return self._numbers.is_news(arrived.broker, arrived.number)
        return not self._digests.check(arrived.digest)


def _from_zenoh(sample: Sample, payload: bytes) -> Message:
    """A message of a Zenoh client: QoS 1 from here on; a DELETE is an empty retained message."""
    deleted = sample.kind == zenoh.SampleKind.DELETE
    topic = topic_of_key(sample.key)
    if topic.startswith("$") or "*" in topic:
        raise AttachmentError(f"{sample.key!r} is no topic for MQTT clients")
    message = Message(topic, b"" if deleted else payload, qos=1, retain=deleted)
    describe(message, str(sample.content_encoding))
    demands = [] if sample.context is None or not sample.context.attested else [ATTESTED]
    message.user_properties = with_location(demands, NOWHERE, sample.location)
    message.location, message.geofence = sample.location, sample.geofence
    return message

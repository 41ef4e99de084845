"""Retained messages of other brokers: asked for when a client subscribes, kept where published.

The broker at which a retained message was last published keeps it, and tells the others, so that
whoever kept an older one for the same topic forgets it. All of it goes under `@zonal/…`, which no
ordinary key expression matches. Where brokers have a secret, questions and notes are marked with
it, and answers are sealed: others learn neither topics nor payloads, and can answer nothing.
"""

from __future__ import annotations

import logging
import os
import struct
import threading
from typing import TYPE_CHECKING

import zenoh

from zonal.broker.envelope import LIFETIME_S, opened, read_envelope, seal
from zonal.broker.keymap import filter_of_key, fits, key_of_filter, key_of_topic, topic_of_key
from zonal.broker.topics import matches
from zonal.errors import AttachmentError, ZonalError
from zonal.trust import (
    code_of,
    derived_key,
    is_code_of,
    open_bytes,
    read_places,
    seal_bytes,
    written_places,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.broker.core import Broker
    from zonal.broker.message import Message
    from zonal.broker.session import ClientSubscription

logger = logging.getLogger(__name__)

ASKED, CHANGED, ANSWERS = "@zonal/retained", "@zonal/retain", "@zonal/answer"
TIMEOUT_S = 5.0
WHEN = struct.Struct(">d")
QUESTION = struct.Struct(">d16s")
"""When it is asked, and a random number that the answers are bound to."""
LENGTHS = struct.Struct(">II")


class RetainedElsewhere:
    """One broker's part in keeping retained messages for all.

    Args:
        broker: whose retained messages are offered, and whose clients ask.
        session: the plain Zenoh session.
        in_loop: runs something in the broker's event loop, from any thread.
        in_thread: runs something that may block in a thread of its own, in order; False where too
            much waits for it.
        clock: seconds since the epoch.
        secret: what brokers know and others do not; empty: everybody is answered.
    """

    def __init__(
        self,
        broker: Broker,
        session: zenoh.Session,
        *,
        in_loop: Callable[[Callable[[], None]], None],
        in_thread: Callable[[Callable[[], None]], bool],
        clock: Callable[[], float],
        secret: bytes = b"",
    ) -> None:
        self._secret = secret
        self._key = derived_key(secret, "retained") if secret else None
        self._broker = broker
        self._session = session
        self._in_loop = in_loop
        self._in_thread = in_thread
        self._clock = clock
        self._lock = threading.Lock()
        self._asking: dict[str, list[ClientSubscription]] = {}
        session.declare_queryable(
            f"{ASKED}/**", zenoh.handlers.Callback(self._asked, indirect=False)
        )
        session.declare_subscriber(
            f"{CHANGED}/**",
            zenoh.handlers.Callback(self._changed_elsewhere, indirect=False),
            allowed_origin=zenoh.Locality.REMOTE,
        )

    # Others ask us.

    def _asked(self, query: zenoh.Query) -> None:
        """On Zenoh's thread."""
        self._in_loop(lambda: self._find(query))

    def _find(self, query: zenoh.Query) -> None:
        """In the event loop: what we keep for the filter that is asked for."""
        asked = b"" if query.attachment is None else query.attachment.to_bytes()
        key = str(query.key_expr)
        if not self._may_ask(key, asked):
            logger.warning("a question for retained messages is not marked by a broker: %s", key)
            self._in_thread(lambda: self._reply(query, []))
            return
        now = self._clock()
        found = [
            self._sealed(_packed(message, now), asked)
            for message in self._broker.retained.matching(
                filter_of_key(key.removeprefix(f"{ASKED}/")), now
            )
            if not message.topic.startswith("$") and fits(key_of_topic(message.topic))
        ]
        self._in_thread(lambda: self._reply(query, found))

    def _may_ask(self, key: str, asked: bytes) -> bool:
        """Whether whoever asks knows the secret, now: what was overheard is no use later."""
        if not self._secret:
            return True
        question, code = asked[: QUESTION.size], asked[QUESTION.size :]
        if not is_code_of(code, self._secret, key.encode(), question):
            return False
        when, _ = QUESTION.unpack(question)
        return abs(self._clock() - float(when)) <= LIFETIME_S

    def _sealed(self, data: bytes, asked: bytes) -> bytes:
        return data if self._key is None else seal_bytes(self._key, data, asked)

    @staticmethod
    def _reply(query: zenoh.Query, found: list[bytes]) -> None:
        with query:
            for each in found:
                query.reply(ANSWERS, each)

    # We ask others.

    def ask(self, subscription: ClientSubscription) -> None:
        """In the event loop: a client subscribed and wants what is retained.

        Whoever subscribes to the same filter while the question waits to be sent shares it: where
        areas move, a client subscribes anew with every step.
        """
        key = key_of_filter(subscription.filter)
        if subscription.filter.startswith("$") or not fits(key):
            return
        selector = f"{ASKED}/{key}"
        with self._lock:
            asking = self._asking.get(selector)
            if asking is not None:
                asking.append(subscription)
                return
            self._asking[selector] = [subscription]
        if not self._in_thread(lambda: self._get(selector)):
            with self._lock:
                del self._asking[selector]

    def _get(self, selector: str) -> None:
        """On the sending thread: one question for all who wait for it."""
        with self._lock:
            asking = self._asking.pop(selector)
        asked = QUESTION.pack(self._clock(), os.urandom(16))
        if self._secret:
            asked += code_of(self._secret, selector.encode(), asked)

        def take(reply: zenoh.Reply) -> None:
            self._in_loop(lambda: self._take(asking, reply, asked))

        self._session.get(
            # Not "indirect", which would start a thread for every question.
            selector, zenoh.handlers.Callback(take, indirect=False),
            target=zenoh.QueryTarget.ALL, attachment=asked,
            allowed_destination=zenoh.Locality.REMOTE, timeout=TIMEOUT_S,
            accept_replies=zenoh.ReplyKeyExpr.ANY,
            consolidation=zenoh.ConsolidationMode.NONE,
        )  # fmt: skip

    def _take(self, asking: list[ClientSubscription], reply: zenoh.Reply, asked: bytes) -> None:
        """In the event loop: another broker's retained message, for subscriptions of ours."""
        left = [each for each in asking if each.session.subscriptions.get(each.pattern) is each]
        if reply.ok is None or not left:
            return
        data = reply.ok.payload.to_bytes()
        try:
            if self._key is not None:
                data = open_bytes(self._key, data, asked)
            message = _unpacked(data, self._clock())
        except ZonalError as error:
            logger.warning("a retained message from elsewhere is dropped: %s", error)
            return
        if message.topic.startswith("$") or self._broker.retained.get(message.topic) is not None:
            return
        for subscription in left:
            if matches(subscription.filter, message.topic):
                self._broker.distributor.send_retained(subscription, message, self._clock())

    # Who keeps what.

    def changed(self, message: Message) -> None:
        """A client of ours set or cleared a topic's retained message."""
        key = f"{CHANGED}/{key_of_topic(message.topic)}"
        note = WHEN.pack(self._clock())
        if self._secret:
            note += code_of(self._secret, key.encode(), note)
        self._in_thread(lambda: self._session.put(key, note))

    def _changed_elsewhere(self, sample: zenoh.Sample) -> None:
        """A note that is played again is harmless: what is younger than it stays."""
        topic = topic_of_key(str(sample.key_expr).removeprefix(f"{CHANGED}/"))
        note = sample.payload.to_bytes()
        data, code = note[: WHEN.size], note[WHEN.size :]
        key = str(sample.key_expr).encode()
        if len(data) != WHEN.size or topic.startswith("$"):
            return
        if self._secret and not is_code_of(code, self._secret, key, data):
            logger.warning("a note about a retained message is not marked by a broker: %s", topic)
            return
        (when,) = WHEN.unpack(data)
        self._in_loop(lambda: self._broker.retained.forget(topic, when))


def _packed(message: Message, now: float) -> bytes:
    """A retained message with its properties, its places and its payload."""
    envelope = seal(message, 0, 0, now)
    places = written_places(message.location, message.geofence)
    return LENGTHS.pack(len(envelope), len(places)) + envelope + places + message.payload


def _unpacked(data: bytes, now: float) -> Message:
    """What `_packed` packed."""
    try:
        envelope, places = LENGTHS.unpack_from(data)
        start, end = LENGTHS.size + envelope, LENGTHS.size + envelope + places
        message = opened(read_envelope(data[LENGTHS.size : start]), data[end:], now)
        message.location, message.geofence = read_places(data[start:end])
    except struct.error as error:
        raise AttachmentError(f"a retained message cannot be read: {error}") from error
    return message

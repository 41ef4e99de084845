"""Retained messages of other brokers: asked for when a client subscribes, kept where published.

The broker at which a retained message was last published keeps it, and tells the others, so that
whoever kept an older one for the same topic forgets it. All of it goes under `@zonal/…`, which no
ordinary key expression matches.
"""

from __future__ import annotations

import logging
import struct
from typing import TYPE_CHECKING

import zenoh

from zonal.broker import geocontext
from zonal.broker.envelope import is_marked, mark, opened, seal, unseal
from zonal.broker.keymap import (
    check_topic,
    filter_of_key,
    fits,
    key_of_filter,
    key_of_topic,
    topic_of_key,
)
from zonal.broker.topics import matches
from zonal.errors import ZonalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.broker.core import Broker
    from zonal.broker.message import Message
    from zonal.broker.session import ClientSubscription

logger = logging.getLogger(__name__)

ASKED, CHANGED = "@zonal/retained", "@zonal/retain"
TIMEOUT_S = 5.0
WHEN = struct.Struct(">d")


class RetainedElsewhere:
    """One broker's part in keeping retained messages for all.

    Args:
        broker: whose retained messages are offered, and whose clients ask.
        session: the plain Zenoh session.
        in_loop: runs something in the broker's event loop, from any thread.
        in_thread: runs something that may block in a thread of its own, in order.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        broker: Broker,
        session: zenoh.Session,
        *,
        in_loop: Callable[[Callable[[], None]], None],
        in_thread: Callable[[Callable[[], None]], object],
        clock: Callable[[], float],
        secret: bytes = b"",
    ) -> None:
        self._secret = secret
        self._broker = broker
        self._session = session
        self._in_loop = in_loop
        self._in_thread = in_thread
        self._clock = clock
        session.declare_queryable(f"{ASKED}/**", lambda query: in_loop(lambda: self._find(query)))
        session.declare_subscriber(
            f"{CHANGED}/**",
            zenoh.handlers.Callback(self._changed_elsewhere, indirect=False),
            allowed_origin=zenoh.Locality.REMOTE,
        )

    # Others ask us.

    def _find(self, query: zenoh.Query) -> None:
        """In the event loop: what we keep for the filter that is asked for.

        Where brokers have a secret, only who knows it is answered.
        """
        asked = b"" if query.attachment is None else query.attachment.to_bytes()
        if not is_marked(asked, self._secret, str(query.key_expr).encode()):
            self._in_thread(lambda: self._reply(query, []))
            return
        topic_filter = filter_of_key(str(query.key_expr).removeprefix(f"{ASKED}/"))
        now = self._clock()
        found = [
            (message, seal(message, 0, 0, now, self._secret))
            for message in self._broker.retained.matching(topic_filter, now)
            if not message.topic.startswith("$") and fits(key_of_topic(message.topic))
        ]
        self._in_thread(lambda: self._reply(query, found))

    @staticmethod
    def _reply(query: zenoh.Query, found: list[tuple[Message, bytes]]) -> None:
        with query:
            for message, attachment in found:
                key = f"{ASKED}/{key_of_topic(message.topic)}"
                query.reply(key, message.payload, attachment=attachment)

    # We ask others.

    def ask(self, subscription: ClientSubscription) -> None:
        """In the event loop: a client subscribed and wants what is retained."""
        key = key_of_filter(subscription.filter)
        if subscription.filter.startswith("$") or not fits(key):
            return
        selector = f"{ASKED}/{key}"

        def take(reply: zenoh.Reply) -> None:
            self._in_loop(lambda: self._take(subscription, reply))

        def get() -> None:
            self._session.get(
                selector, take, target=zenoh.QueryTarget.ALL,
                allowed_destination=zenoh.Locality.REMOTE, timeout=TIMEOUT_S,
                attachment=mark(self._secret, selector.encode()),
            )  # fmt: skip

        self._in_thread(get)

    def _take(self, subscription: ClientSubscription, reply: zenoh.Reply) -> None:
        """In the event loop: another broker's retained message, for one subscription of ours."""
        current = subscription.session.subscriptions.get(subscription.pattern) is subscription
        if reply.ok is None or not current:
            return
        try:
            message = _message(reply.ok, self._clock(), self._secret)
        except ZonalError as error:
            logger.warning("a retained message from elsewhere is dropped: %s", error)
            return
        if message is None or not matches(subscription.filter, message.topic):
            return
        if self._broker.retained.get(message.topic) is None:
            self._broker.distributor.send_retained(subscription, message, self._clock())

    # Who keeps what.

    def changed(self, message: Message) -> None:
        """A client of ours set or cleared a topic's retained message."""
        key = f"{CHANGED}/{key_of_topic(message.topic)}"
        when = WHEN.pack(self._clock())
        note = when + mark(self._secret, key.encode(), when)
        self._in_thread(lambda: self._session.put(key, note))

    def _changed_elsewhere(self, sample: zenoh.Sample) -> None:
        topic = topic_of_key(str(sample.key_expr).removeprefix(f"{CHANGED}/"))
        note = sample.payload.to_bytes()
        data, found = note[: WHEN.size], note[WHEN.size :]
        key = str(sample.key_expr).encode()
        if len(data) == WHEN.size and is_marked(found, self._secret, key, data):
            (when,) = WHEN.unpack(data)
            self._in_loop(lambda: self._broker.retained.forget(topic, when))


def _message(sample: zenoh.Sample, now: float, secret: bytes) -> Message | None:
    attachment, payload = sample.attachment, sample.payload.to_bytes()
    envelope = unseal(None if attachment is None else attachment.to_bytes(), payload, secret)
    if envelope is None:
        return None
    message = opened(envelope, payload, now)
    check_topic(message.topic, str(sample.key_expr).removeprefix(f"{ASKED}/"))
    context = geocontext.read(message.user_properties)
    message.location, message.geofence = context.location, context.geofence
    return message

"""From a message to the sessions that get it; who they are is found once and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.broker.message import Encodings, Message
from zonal.broker.receivers import Receivers, receivers_of
from zonal.broker.topics import OWN_PREFIXES, is_literal, valid_topic

if TYPE_CHECKING:
    from zonal.broker.matching import Matching
    from zonal.broker.session import ClientSession, Outgoing
    from zonal.broker.subscription import ClientSubscription
    from zonal.geo import Area, Point

KEPT_TOPICS = 20_000
KEPT_PLACES = 2_000
LONGEST_KEPT = 512
"""Characters of a topic whose receivers are kept."""


class Distributor:
    """Delivers messages to sessions, and keeps who receives what.

    The receivers of a message without places are kept by its topic, those of others by topic,
    location and geofence. As a watcher of `Matching` it is told of every change, and forgets
    what that may have changed: what it keeps is always right.
    """

    def __init__(self, matching: Matching, maximum_levels: int) -> None:
        self._matching = matching
        self._maximum_levels = maximum_levels
        self._turns: dict[tuple[str, str], int] = {}
        self._by_topic: dict[str, Receivers] = {}
        self._by_place: dict[tuple[str, Point | None, Area | None], Receivers] = {}
        matching.watchers.append(self)

    def deliver(self, message: Message, now: float) -> int:
        """Hands a message to everyone who wants it; returns how many."""
        receivers = self.receivers(message)
        encodings = Encodings(message, now)
        message_qos, retain = message.qos, message.retain
        for session, qos, identifiers, as_published in receivers.copies:
            session.deliver(
                encodings,
                min(message_qos, qos),
                retain and as_published,
                identifiers,
            )
        for members in receivers.groups:
            self._deliver_shared(members, encodings)
        return receivers.size

    def receivers(self, message: Message) -> Receivers:
        """Who gets a message."""
        if self._matching.has_places(message):
            found = self._with_places(message)
        else:
            found = self.on_topic(message.topic) or self._find(message.topic)
        return receivers_of(found.selective, message.source) if found.selective else found

    def on_topic(self, topic: str) -> Receivers | None:
        """Who gets messages without places; None for a topic that clients cannot publish to."""
        found = self._by_topic.get(topic)
        if found is None:
            if topic.startswith(OWN_PREFIXES) or not valid_topic(topic, self._maximum_levels):
                return None
            found = self._find(topic)
            if len(topic) <= LONGEST_KEPT:
                if len(self._by_topic) >= KEPT_TOPICS:
                    self._by_topic.clear()
                self._by_topic[topic] = found
        return found

    def _with_places(self, message: Message) -> Receivers:
        key = (message.topic, message.location, message.geofence)
        found = self._by_place.get(key)
        if found is None:
            found = self._find(*key)
            if len(self._by_place) >= KEPT_PLACES:
                self._by_place.clear()
            self._by_place[key] = found
        return found

    def _find(
        self, topic: str, location: Point | None = None, geofence: Area | None = None
    ) -> Receivers:
        return receivers_of(self._matching.find(topic, location, geofence))

    # What changes who receives a message.

    def added(self, subscription: ClientSubscription) -> None:
        """A subscription was made: forgets the receivers of what it matches."""
        self._by_place.clear()
        if subscription.area is not None:
            return  # it receives nothing that comes without a place
        if is_literal(subscription.filter):
            self._by_topic.pop(subscription.filter, None)
        else:
            self._by_topic.clear()

    def removed(self, subscription: ClientSubscription) -> None:
        """A subscription is gone: forgets the receivers of what it matched."""
        self.added(subscription)

    def moved(self, _: ClientSession) -> None:
        """A client is somewhere else: forgets the receivers that depend on places."""
        self._by_place.clear()

    # Shared subscriptions.

    def _deliver_shared(self, members: list[ClientSubscription], encodings: Encodings) -> None:
        """One member gets it: those connected take turns, the others only when none is."""
        member = self._choose(members)
        message = encodings.message
        member.session.deliver(
            encodings,
            min(member.qos, message.qos),
            message.retain and member.retain_as_published,
            member.copy.identifiers,
            member.pattern,
        )

    def _choose(self, members: list[ClientSubscription]) -> ClientSubscription:
        first = members[0]
        if len(members) == 1:
            return first
        key = (first.group or "", first.filter)
        connected = [m for m in members if m.session.connection is not None] or members
        turn = self._turns.get(key, 0)
        self._turns[key] = turn + 1
        return connected[turn % len(connected)]

    def hand_over(self, session: ClientSession, entries: list[Outgoing], now: float) -> None:
        """Gives a shared group's messages to its other members when a session ends (4.8.2)."""
        for entry in entries:
            share, message = entry.share, entry.message
            # A QoS 2 message under way must not go to anyone else (MQTT-4.8.2-5).
            if share is None or (entry.qos == 2 and entry.state):
                continue
            members = [
                other
                for other in self._matching.find(message.topic, message.location, message.geofence)
                if other.pattern == share and other.session is not session
            ]
            if members:
                self._deliver_shared(members, Encodings(message, now))

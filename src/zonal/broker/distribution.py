"""From a message to the sessions that get it; who they are is found once and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.broker.message import Encodings, Message
from zonal.broker.permission import Tellings, admits
from zonal.broker.receivers import Receivers, receivers_of
from zonal.broker.topics import OWN_PREFIXES, is_literal, valid_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from zonal.broker.groups import Groups
    from zonal.broker.matching import Matching
    from zonal.broker.outgoing import Outgoing
    from zonal.broker.retained import Retained
    from zonal.broker.session import ClientSession, ClientSubscription
    from zonal.geo import Area, Point

KEPT_TOPICS = 20_000
LONGEST_KEPT = 512
"""Characters of a topic whose receivers are kept."""


class Distributor:
    """Delivers messages to sessions, and keeps who receives what.

    The receivers of a message without places are kept by its topic. As a watcher of `Matching`
    it is told of every change, and forgets what that may have changed: what it keeps is always
    right. Who keeps more compares `stamp`.
    """

    def __init__(self, matching: Matching, retained: Retained, maximum_levels: int) -> None:
        self._matching = matching
        self._retained = retained
        self._maximum_levels = maximum_levels
        self._turns: dict[tuple[str, str], int] = {}
        self.by_topic: dict[str, Receivers] = {}
        """Who gets messages without places, as far as `on_topic` has found it."""
        self.on_publish: Callable[[Message], None] | None = None
        """Called with every message that a client of this broker published."""
        self.stamp = 0
        """Counts the changes after which places may find other receivers."""
        self._serial = 0
        self.groups: Groups | None = None
        """Says which groups' messages are delivered by another broker."""
        matching.watchers.append(self)

    def publish(self, message: Message, now: float) -> int:
        """A client's message: retained if asked for, delivered here, handed on to other brokers.

        Returns how many receive it here.
        """
        if self.on_publish is not None:
            self._serial += 1
            message.serial = self._serial
        if message.retain:
            self._retained.publish(message, now)
        count = self.deliver(message, now)
        if self.on_publish is not None:
            self.on_publish(message)
        return count

    def deliver(
        self, message: Message, now: float, only: Collection[ClientSession] | None = None
    ) -> int:
        """Hands a message to everyone who wants it, or of these sessions; returns how many."""
        if only is None and message.attested_fence is None:
            found = self._receivers(message)
        else:
            wanting = self._matching.find(message.topic, message.location, message.geofence)
            mine = [
                each
                for each in wanting
                if (only is None or each.session in only)
                and _may_have(each, message)
                and message.lets_in(each.session.attestation, now)
            ]
            found = receivers_of(mine, message.source)
        copies, groups = found.copies, found.groups
        encodings = Encodings(message, now)
        tellings = Tellings(encodings) if found.guarded else None
        message_qos, retain = message.qos, message.retain
        for session, qos, identifiers, as_published in copies:
            told = encodings if tellings is None else tellings.to(session)
            session.deliver(told, min(message_qos, qos), retain and as_published, identifiers)
        for members in groups:
            if self.groups is None or self.groups.is_ours(members[0], message):
                self._deliver_shared(members, encodings)
        for subscription in found.watching:
            assert subscription.watch is not None
            known = encodings if tellings is None else tellings.to(subscription.session)
            subscription.watch.take(subscription, known.message, now)
        return len(copies) + len(groups) + len(found.watching)

    def _receivers(self, message: Message) -> Receivers:
        topic = message.topic
        if self._matching.has_places(message):
            found = self.at(topic, message.location, message.geofence)
        else:
            found = self._anywhere(topic)
        if found.guarded:
            allowed = [each for each in found.subscriptions if _may_have(each, message)]
            return receivers_of(allowed, message.source)
        return receivers_of(found.subscriptions, message.source) if found.selective else found

    def on_topic(self, topic: str) -> Receivers | None:
        """Finds and keeps who gets messages without places; None where no client may publish."""
        if topic.startswith(OWN_PREFIXES) or not valid_topic(topic, self._maximum_levels):
            return None
        found = receivers_of(self._matching.find(topic, None))
        if len(topic) <= LONGEST_KEPT:
            if len(self.by_topic) >= KEPT_TOPICS:
                self.by_topic.clear()
            self.by_topic[topic] = found
        return found

    def anywhere(self, topic: str) -> Receivers | None:
        """Who gets messages without places; None where no client may publish."""
        return self.by_topic.get(topic) or self.on_topic(topic)

    def _anywhere(self, topic: str) -> Receivers:
        return self.anywhere(topic) or receivers_of(self._matching.find(topic, None))

    def at(self, topic: str, location: Point | None, geofence: Area | None) -> Receivers:
        """Who gets a message from this place, for this area; nothing is kept."""
        if geofence is not None:
            return receivers_of(self._matching.find(topic, location, geofence))
        anywhere = self._anywhere(topic)
        fenced = () if location is None else self._matching.fenced(topic, location)
        if not fenced:
            return anywhere
        return receivers_of([*anywhere.subscriptions, *fenced])

    def send_retained(self, subscription: ClientSubscription, message: Message, now: float) -> None:
        """Gives a client a retained message whose topic matches, if places and rules allow it."""
        if not _may_have(subscription, message):
            return
        session, encodings = subscription.session, Encodings(message, now)
        if subscription.guarded:
            encodings = Tellings(encodings).to(session)
        if subscription.watch is not None:
            subscription.watch.resume(encodings.message)
        elif subscription.passes_geo(message, now):
            qos = min(subscription.qos, message.qos)
            session.deliver(encodings, qos, True, subscription.copy.identifiers)

    # What changes who receives a message.

    def added(self, subscription: ClientSubscription) -> None:
        """A subscription was made or is gone: forgets the receivers of what it matches."""
        self.stamp += 1
        if subscription.area is not None:
            return  # it receives nothing that comes without a place
        if is_literal(subscription.filter):
            self.by_topic.pop(subscription.filter, None)
        else:
            self.by_topic.clear()

    removed = added

    def moved(self, _: ClientSession) -> None:
        """A client is somewhere else: other receivers may be found by places."""
        self.stamp += 1

    # Shared subscriptions.

    def _deliver_shared(self, members: list[ClientSubscription], encodings: Encodings) -> None:
        """One member gets it: those connected take turns, the others only when none is."""
        member = self._choose(members)
        message = encodings.message
        member.session.deliver(
            Tellings(encodings).to(member.session) if member.guarded else encodings,
            min(member.qos, message.qos),
            message.retain and member.retain_as_published,
            member.copy.identifiers,
            member.shared_as,
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
                if other.shared_as == share
                and other.session is not session
                and _may_have(other, message)
                and message.lets_in(other.session.attestation, now)
            ]
            if members:
                self._deliver_shared(members, Encodings(message, now))


def _may_have(subscription: ClientSubscription, message: Message) -> bool:
    return not subscription.guarded or admits(subscription, message)

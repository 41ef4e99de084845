"""From a message to its receivers: one copy a client, one member a shared group."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.broker.message import Encodings, Message
from zonal.broker.subscription import Copy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.broker.matching import Matching
    from zonal.broker.session import ClientSession, Outgoing
    from zonal.broker.subscription import ClientSubscription
    from zonal.geo import Area, Point

CACHED_TOPICS = 20_000
CACHED_PLACES = 2_000
LONGEST_CACHED = 512
"""Characters of a topic whose plan is kept."""


class Receivers(NamedTuple):
    """Everyone who gets a message."""

    copies: list[Copy]
    groups: list[list[ClientSubscription]]
    no_local: bool
    """Whether the plan depends on who publishes."""

    @property
    def size(self) -> int:
        """How many deliveries it asks for."""
        return len(self.copies) + len(self.groups)


class PlacedReceivers(NamedTuple):
    """A plan, with the places it is for: as long as it is kept, their identities are taken."""

    location: Point | None
    geofence: Area | None
    plan: Receivers


def receivers_of(
    subscriptions: Sequence[ClientSubscription], source: str | None = None
) -> Receivers:
    """Puts overlapping subscriptions of a client together (MQTT 5, 3.3.4) and groups apart."""
    # Most clients have one matching subscription: theirs are settled without a look-up.
    copies = [
        subscription.copy
        for subscription in subscriptions
        if subscription.plain and len(subscription.session.subscriptions) == 1
    ]
    if len(copies) == len(subscriptions):
        return Receivers(copies, [], no_local=False)
    chosen: dict[ClientSession, Copy] = {}
    groups: dict[tuple[str, str], list[ClientSubscription]] = {}
    no_local = False
    for subscription in subscriptions:
        if subscription.no_local:
            no_local = True
            if source is not None and subscription.session.client_id == source:
                continue
        if subscription.group is not None:
            groups.setdefault((subscription.group, subscription.filter), []).append(subscription)
            continue
        session = subscription.session
        chosen[session] = widened(chosen.get(session), subscription.copy)
    return Receivers(list(chosen.values()), list(groups.values()), no_local)


def widened(copy: Copy | None, other: Copy) -> Copy:
    """A copy that serves one more subscription of the same client."""
    if copy is None:
        return other
    return Copy(
        copy.session,
        max(copy.qos, other.qos),
        copy.identifiers + other.identifiers,
        copy.retain_as_published or other.retain_as_published,
    )


class Distributor:
    """Delivers messages to sessions."""

    def __init__(self, matching: Matching) -> None:
        self._matching = matching
        self._turns: dict[tuple[str, str], int] = {}
        self._plans: dict[str, tuple[int, Receivers]] = {}
        self._movement = 0
        self._placed_plans: dict[tuple[str, int, int], PlacedReceivers] = {}

    def deliver(self, message: Message, now: float) -> int:
        """Hands a message to everyone who wants it; returns how many."""
        plan = self.plan(message)
        encodings = Encodings(message, now)
        message_qos, retain = message.qos, message.retain
        for session, qos, identifiers, as_published in plan.copies:
            session.deliver(
                encodings,
                min(message_qos, qos),
                retain and as_published,
                identifiers,
            )
        for members in plan.groups:
            self._deliver_shared(members, encodings)
        return plan.size

    def plan(self, message: Message) -> Receivers:
        """Who gets it. Without places the answer holds until a subscription changes."""
        matching = self._matching
        if matching.has_places(message):
            return self._placed_plan(message)
        known = self._plans.get(message.topic)
        if known is not None and known[0] == matching.generation:
            plan = known[1]
        else:
            plan = receivers_of(matching.plain(message))
            if len(self._plans) >= CACHED_TOPICS:
                self._plans.clear()
            if len(message.topic) <= LONGEST_CACHED:
                self._plans[message.topic] = (matching.generation, plan)
        return receivers_of(matching.plain(message), message.source) if plan.no_local else plan

    def _placed_plan(self, message: Message) -> Receivers:
        """Who gets a message with places: the answer holds until somebody moves.

        Places are told apart by identity: equal texts are read into the same object.
        """
        movement = self._matching.movement
        if movement != self._movement:
            self._movement = movement
            self._placed_plans.clear()
        location, geofence = message.location, message.geofence
        key = (message.topic, id(location), id(geofence))
        known = self._placed_plans.get(key)
        if known is not None:
            plan = known.plan
        else:
            plan = receivers_of(self._matching.find(message))
            if len(self._placed_plans) >= CACHED_PLACES:
                self._placed_plans.clear()
            self._placed_plans[key] = PlacedReceivers(location, geofence, plan)
        return receivers_of(self._matching.find(message), message.source) if plan.no_local else plan

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
            share = entry.share
            # A QoS 2 message under way must not go to anyone else (MQTT-4.8.2-5).
            if share is None or (entry.qos == 2 and entry.state):
                continue
            members = [
                other
                for other in self._matching.find(entry.message)
                if other.pattern == share and other.session is not session
            ]
            if members:
                self._deliver_shared(members, Encodings(entry.message, now))

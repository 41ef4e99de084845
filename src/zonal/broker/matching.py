"""Which subscriptions want this message: the one place where the broker asks the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from zonal.index import SubscriptionIndex, Syntax

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.broker.message import Message
    from zonal.broker.session import ClientSession, ClientSubscription
    from zonal.geo import Area, Point


class Watcher(Protocol):
    """Wants to know what the clients want: the way to other brokers."""

    def added(self, subscription: ClientSubscription) -> None:
        """A subscription was made."""

    def removed(self, subscription: ClientSubscription) -> None:
        """A subscription is gone."""

    def moved(self, session: ClientSession) -> None:
        """A client is somewhere else."""


class Matching:
    """Subscriptions without a geofence in one index, those with one in another.

    A subscription with a geofence wants messages from somewhere: one without a location never
    reaches it.
    """

    def __init__(self) -> None:
        self._plain: SubscriptionIndex[ClientSubscription] = SubscriptionIndex(syntax=Syntax.MQTT)
        self._placed: SubscriptionIndex[ClientSubscription] = SubscriptionIndex(syntax=Syntax.MQTT)
        self.watchers: list[Watcher] = []
        """Told of every change, after it was made."""
        self.has_fences = False
        """Whether some subscription wants only what comes from somewhere."""

    def __len__(self) -> int:
        return len(self._plain) + len(self._placed)

    def _home(self, subscription: ClientSubscription) -> SubscriptionIndex[ClientSubscription]:
        return self._plain if subscription.area is None else self._placed

    def add(self, subscription: ClientSubscription) -> None:
        """Takes a subscription in."""
        session = subscription.session
        index = self._home(subscription)
        index.add(
            (session.client_id, subscription.pattern),
            subscription.filter,
            subscription.area,
            client=session.client_id,
            value=subscription,
        )
        self.has_fences = len(self._placed) > 0
        if session.location is not None:
            index.locate(session.client_id, session.location)
        for watcher in self.watchers:
            watcher.added(subscription)

    def replace(self, old: ClientSubscription, new: ClientSubscription) -> None:
        """Takes a subscription in the place of another of the same session and pattern."""
        home = self._home(new)
        if self._home(old) is not home:
            self.remove(old)
            self.add(new)
            return
        home.update((new.session.client_id, new.pattern), area=new.area, value=new)
        for watcher in self.watchers:
            watcher.removed(old)
            watcher.added(new)

    def remove(self, subscription: ClientSubscription) -> None:
        """Takes a subscription out."""
        key = (subscription.session.client_id, subscription.pattern)
        self._home(subscription).remove(key)
        self.has_fences = len(self._placed) > 0
        for watcher in self.watchers:
            watcher.removed(subscription)

    def leave(self, session: ClientSession) -> None:
        """Forgets a client and everything it wanted."""
        self._plain.remove_client(session.client_id)
        self._placed.remove_client(session.client_id)
        self.has_fences = len(self._placed) > 0
        for watcher in self.watchers:
            for subscription in session.subscriptions.values():
                watcher.removed(subscription)

    def locate(self, session: ClientSession, location: Point) -> None:
        """Moves a client, and its ego-centric geofences with it."""
        session.location = location
        self._plain.locate(session.client_id, location)
        self._placed.locate(session.client_id, location)
        for watcher in self.watchers:
            watcher.moved(session)

    def has_places(self, message: Message) -> bool:
        """Whether places decide who gets a message."""
        return message.geofence is not None or (message.location is not None and self.has_fences)

    def find(
        self, topic: str, location: Point | None, geofence: Area | None = None
    ) -> list[ClientSubscription]:
        """The subscriptions that pass content check, consumer and producer geo check."""
        # As rows: otherwise the index would keep the answer too, and once is enough.
        rows = self._plain.match_rows(topic, None, geofence)
        found: list[ClientSubscription] = self._plain.values(rows).tolist()
        if location is not None:
            found += self.fenced(topic, location, geofence)
        return found

    def fenced(
        self, topic: str, location: Point, geofence: Area | None = None
    ) -> Sequence[ClientSubscription]:
        """Of these the ones with a geofence."""
        return self._placed.match(topic, location, geofence) if self.has_fences else ()

    def fenced_each(
        self, topic: str, lats: Sequence[float], lons: Sequence[float]
    ) -> tuple[list[int], list[ClientSubscription]]:
        """Of many messages their numbers, in order, and beside each one with a geofence for it."""
        return self._placed.match_each(topic, lats, lons)

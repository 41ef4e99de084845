"""Which subscriptions want this message: the one place where the broker asks the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from zonal.geo import Circle
from zonal.index import SubscriptionIndex, Syntax

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.broker.message import Message
    from zonal.broker.session import ClientSession
    from zonal.broker.subscription import ClientSubscription
    from zonal.geo import Point


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
    reaches it. And whoever moves a geofence leaves the plans of ordinary topics untouched.
    """

    def __init__(self) -> None:
        self._plain: SubscriptionIndex[ClientSubscription] = SubscriptionIndex(syntax=Syntax.MQTT)
        self._placed: SubscriptionIndex[ClientSubscription] = SubscriptionIndex(syntax=Syntax.MQTT)
        self.watcher: Watcher | None = None
        self.generation = 0
        """Rises with every change of the subscriptions without a geofence."""
        self.movement = 0
        """Rises whenever any subscription changes or any client moves."""

    def __len__(self) -> int:
        return len(self._plain) + len(self._placed)

    def _home(self, subscription: ClientSubscription) -> SubscriptionIndex[ClientSubscription]:
        return self._plain if subscription.area is None else self._placed

    def add(self, subscription: ClientSubscription) -> None:
        """Takes a subscription in."""
        client_id = subscription.session.client_id
        index = self._home(subscription)
        self.generation += index is self._plain
        self.movement += 1
        index.add(
            (client_id, subscription.pattern),
            subscription.filter,
            subscription.area,
            client=client_id,
            value=subscription,
        )
        if subscription.session.location is not None:
            index.locate(client_id, subscription.session.location)
        if self.watcher is not None:
            self.watcher.added(subscription)

    def replace(self, old: ClientSubscription, new: ClientSubscription) -> None:
        """Takes a subscription in the place of another of the same session and pattern."""
        home = self._home(new)
        self.movement += 1
        if self._home(old) is home:
            self.generation += home is self._plain
            key = (new.session.client_id, new.pattern)
            home.update(key, area=new.area, value=new)
            if self.watcher is not None:
                self.watcher.removed(old)
                self.watcher.added(new)
        else:
            self.remove(old)
            self.add(new)

    def remove(self, subscription: ClientSubscription) -> None:
        """Takes a subscription out."""
        key = (subscription.session.client_id, subscription.pattern)
        home = self._home(subscription)
        self.generation += home is self._plain
        self.movement += 1
        home.remove(key)
        if self.watcher is not None:
            self.watcher.removed(subscription)

    def leave(self, session: ClientSession) -> None:
        """Forgets a client and everything it wanted."""
        self.generation += 1
        self.movement += 1
        self._plain.remove_client(session.client_id)
        self._placed.remove_client(session.client_id)
        if self.watcher is not None:
            for subscription in session.subscriptions.values():
                self.watcher.removed(subscription)

    def locate(self, session: ClientSession, location: Point) -> None:
        """Moves a client, and its ego-centric geofences with it."""
        session.location = location
        self.movement += 1
        self._plain.locate(session.client_id, location)
        self._placed.locate(session.client_id, location)
        if self.watcher is not None:
            self.watcher.moved(session)

    def plain(self, message: Message) -> Sequence[ClientSubscription]:
        """The subscriptions without a geofence."""
        if not len(self._plain):
            return ()
        return self._plain.match(message.topic, None, message.geofence)

    def placed(self, message: Message) -> Sequence[ClientSubscription]:
        """The subscriptions whose geofence the message comes from."""
        if message.location is None or not len(self._placed):
            return ()
        return self._placed.match(message.topic, message.location, message.geofence)

    def has_places(self, message: Message) -> bool:
        """Whether places decide who gets a message."""
        return message.geofence is not None or (
            message.location is not None and len(self._placed) > 0
        )

    def find(self, message: Message) -> list[ClientSubscription]:
        """The subscriptions that pass content check, consumer and producer geo check."""
        return [*self.plain(message), *self.placed(message)]


def passes_geo(subscription: ClientSubscription, message: Message) -> bool:
    """Consumer and producer geo check for one subscription, for a message that was retained."""
    area = subscription.area
    here = subscription.session.location
    if area is not None:
        if isinstance(area, Circle) and area.is_ego_centric:
            if here is None:
                return False
            area = area.at(here)
        if message.location is None or not area.contains(message.location):
            return False
    if message.geofence is None:
        return True
    return here is not None and message.geofence.contains(here)

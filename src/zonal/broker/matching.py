"""Which subscriptions want this message: the one place where the broker asks the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.broker.topics import matches
from zonal.geo import Circle

if TYPE_CHECKING:
    from zonal.broker.message import Message
    from zonal.broker.session import Session
    from zonal.broker.subscription import Subscription
    from zonal.geo import Point


class Matching:
    """PROVISIONAL: every subscription is tried; the index takes its place."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()
        self.generation = 0

    def __len__(self) -> int:
        return len(self._subscriptions)

    def add(self, subscription: Subscription) -> None:
        """Takes a subscription in."""
        self.generation += 1
        self._subscriptions.add(subscription)

    def replace(self, old: Subscription, new: Subscription) -> None:
        """Takes a subscription in the place of another of the same session and filter."""
        self.remove(old)
        self.add(new)

    def remove(self, subscription: Subscription) -> None:
        """Takes a subscription out."""
        self.generation += 1
        self._subscriptions.discard(subscription)

    def locate(self, session: Session, location: Point | None) -> None:
        """Moves a client, and its ego-centric geofences with it."""
        session.location = location

    def find(self, message: Message) -> list[Subscription]:
        """The subscriptions that pass content check, consumer and producer geo check."""
        return [s for s in self._subscriptions if passes(s, message)]


def passes(subscription: Subscription, message: Message) -> bool:
    """The three checks for one subscription."""
    return matches(subscription.filter, message.topic) and passes_geo(subscription, message)


def passes_geo(subscription: Subscription, message: Message) -> bool:
    """Consumer geo check, then producer geo check (GeoBroker, section 3.2)."""
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

"""What rules say of a client's messages, of its subscriptions, and of each message it would get."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from zonal.broker import reason_codes
from zonal.broker.geocontext import LOCATION, holds, location_text, middle_of
from zonal.broker.message import Encodings
from zonal.broker.reason_codes import Refused

if TYPE_CHECKING:
    from zonal.broker.message import Message
    from zonal.broker.session import ClientSession, ClientSubscription
    from zonal.geo import Area, Point
    from zonal.trust import HearingVerdict


def check_publication(
    session: ClientSession, topic: str, place: Point | None, fence: Area | None
) -> float | None:
    """Refuses a message that no rule allows; how finely others may know its place, in metres."""
    user = session.user
    if user is None:
        return None
    verdict = user.may_publish(topic, session.client_id, place, fence, session.location)
    if not verdict.allowed:
        raise Refused(reason_codes.NOT_AUTHORIZED, f"{topic[:80]!r}: {verdict.reason}")
    return verdict.precision_m


def check_subscription(
    session: ClientSession, topic_filter: str, area: Area | None
) -> HearingVerdict | None:
    """Refuses a subscription that no rule allows; else what is left of it. None: all."""
    user = session.user
    if user is None or user.rules is None:
        return None
    verdict = user.may_hear(topic_filter, session.client_id, area, session.location)
    if not verdict.allowed:
        raise Refused(reason_codes.NOT_AUTHORIZED, f"{topic_filter[:80]!r}: {verdict.reason}")
    return verdict


def admits(subscription: ClientSubscription, message: Message) -> bool:
    """Whether a subscription that rules have a say in gets a message that was matched with it."""
    session = subscription.session
    user = session.user
    if user is None:
        return True
    place = message.location
    verdict = user.may_receive(message.topic, session.client_id, place, session.location)
    area = subscription.asked
    if not verdict.allowed or area is None:
        return verdict.allowed
    told = None if place is None else middle_of(place, verdict.precision_m)
    return holds(area, told, session.location)


class Tellings:
    """One message with its place as finely as each receiver may know it."""

    def __init__(self, exact: Encodings) -> None:
        self._exact = exact
        self._blurred: dict[float, Encodings] = {}

    def to(self, session: ClientSession) -> Encodings:
        """The message for a receiver that may have it."""
        message, user = self._exact.message, session.user
        if message.location is None or user is None or user.rules is None:
            return self._exact
        precision_m = user.may_receive(
            message.topic, session.client_id, message.location, session.location
        ).precision_m
        if precision_m is None:
            return self._exact
        found = self._blurred.get(precision_m)
        if found is None:
            found = Encodings(told(message, precision_m), self._exact.now)
            self._blurred[precision_m] = found
        return found


def told(message: Message, precision_m: float) -> Message:
    """A message of its own, whose place is told no finer than this."""
    assert message.location is not None
    coarse = copy.copy(message)
    coarse.key = coarse.references = coarse.holders = 0
    coarse.location = middle_of(message.location, precision_m)
    others = [(name, value) for name, value in message.user_properties if name != LOCATION]
    coarse.user_properties = [*others, (LOCATION, location_text(coarse.location))]
    return coarse

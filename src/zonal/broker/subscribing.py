"""SUBSCRIBE and UNSUBSCRIBE: what a client wants to hear, and from where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.broker import geocontext, reason_codes
from zonal.broker.geocontext import LOCATION_TOPIC
from zonal.broker.ledger import weight_of
from zonal.broker.permission import check_subscription
from zonal.broker.reason_codes import Refused, protocol_error
from zonal.broker.session import ClientSession, ClientSubscription
from zonal.broker.topics import SHARE, Pattern, parse_pattern
from zonal.broker.watch import follow, watch_of
from zonal.errors import GeometryError

if TYPE_CHECKING:
    import mqtt5

    from zonal.broker.connection import Connection
    from zonal.broker.state import BrokerState
    from zonal.broker.watch import BorderWatch
    from zonal.geo import Area


def on_subscribe(broker: BrokerState, connection: Connection, session: ClientSession,
                 packet: mqtt5.SubscribePacket, now: float) -> None:  # fmt: skip
    """Makes or replaces subscriptions; retained messages follow the SUBACK."""
    _check(packet)
    broker.counters.subscribed += len(packet.topic_filters)
    try:
        area, hint = _area(broker, session, packet)
    except GeometryError as error:
        codes = [reason_codes.IMPLEMENTATION_SPECIFIC] * len(packet.topic_filters)
        connection.acknowledge_subscribe(packet.packet_id, codes, str(error))
        return
    codes, problems, fresh = [], [hint] if hint else [], []
    for asked in packet.topic_filters:
        try:
            parsed = _judge(connection, session, asked.pattern)
            place = area if parsed.place is None else _place(broker, parsed.place, area)
            watch = _watch(broker, place, packet)
            wanted = place if watch is None else watch.matched
            verdict = check_subscription(session, parsed.filter, wanted)
            weight = _weigh(broker, session, packet, asked.pattern)
        except Refused as refused:
            codes.append(refused.code)
            problems.append(str(refused))
            broker.diary.denied(session.client_id, "subscription", refused.code, str(refused), now)
            continue
        qos = min(int(asked.max_qos), connection.entrance.limits.maximum_qos)
        codes.append(qos)
        if verdict is not None and verdict.narrowed:
            problems.append(f"{asked.pattern[:80]!r}: {verdict.reason}")
            broker.diary.narrowed(session.client_id, parsed.filter, verdict.rule, now)
        subscription = ClientSubscription(
            session,
            asked.pattern,
            parsed.filter,
            group=parsed.group,
            qos=qos,
            no_local=asked.no_local,
            retain_as_published=asked.retain_as_published,
            identifier=packet.subscription_id,
            area=wanted if verdict is None else verdict.area,
            asked=wanted,
            watch=watch,
            weight=weight,
        )
        replaced = _put(broker, session, subscription)
        follow(subscription, now)
        if _wants_retained(asked, parsed, replaced=replaced):
            fresh.append(subscription)
    connection.acknowledge_subscribe(packet.packet_id, codes, "; ".join(problems))
    for subscription in fresh:
        for message in broker.retained.matching(subscription.filter, now):
            broker.distributor.send_retained(subscription, message, now)
        if broker.on_retained_wanted is not None:
            broker.on_retained_wanted(subscription)


def _check(packet: mqtt5.SubscribePacket) -> None:
    if packet.packet_id == 0:
        raise protocol_error("packet identifier 0")
    if not packet.topic_filters:
        raise protocol_error("a SUBSCRIBE without a topic filter")
    if any(asked.no_local and asked.pattern.startswith(SHARE) for asked in packet.topic_filters):
        raise protocol_error("no-local on a shared subscription")


def _area(
    broker: BrokerState, session: ClientSession, packet: mqtt5.SubscribePacket
) -> tuple[Area | None, str]:
    """The geofence of a SUBSCRIBE, and what to tell the client about its properties."""
    context = broker.context(packet.user_properties)
    hint = context.hint
    if context.location is not None:
        hint = f"user property location: belongs to CONNECT, PUBLISH or {LOCATION_TOPIC}"
        if broker.settings.strict:
            raise GeometryError(hint)
    elif geocontext.follows(context.geofence) and session.location is None:
        hint = f"nothing is around you until you say where you are, on {LOCATION_TOPIC}"
    return context.geofence, hint


def _watch(
    broker: BrokerState, area: Area | None, packet: mqtt5.SubscribePacket
) -> BorderWatch | None:
    """What the client wants to be told of the area's border, instead of messages."""
    try:
        return watch_of(area, packet.user_properties, broker.timers)
    except GeometryError as error:
        raise Refused(reason_codes.IMPLEMENTATION_SPECIFIC, str(error)) from error


def _place(broker: BrokerState, place: str, area: Area | None) -> Area:
    """The area that a filter names itself."""
    if area is not None:
        raise Refused(reason_codes.IMPLEMENTATION_SPECIFIC, "a place in filter and properties")
    if not broker.settings.geo:
        raise Refused(reason_codes.FILTER_INVALID, "places are switched off here")
    try:
        return broker.geotopics.area(place)
    except GeometryError as error:
        raise Refused(reason_codes.FILTER_INVALID, str(error)) from error


def _judge(connection: Connection, session: ClientSession, pattern: str) -> Pattern:
    """The parts of a valid filter."""
    limits = connection.entrance.limits
    shown = repr(pattern[:80])
    parsed = parse_pattern(pattern, limits.maximum_levels)
    if parsed is None:
        raise Refused(reason_codes.FILTER_INVALID, f"{shown} is no valid topic filter")
    known = pattern in session.subscriptions
    if not known and len(session.subscriptions) >= limits.maximum_subscriptions:
        raise Refused(reason_codes.QUOTA_EXCEEDED, "too many subscriptions")
    return parsed


def _weigh(
    broker: BrokerState, session: ClientSession, packet: mqtt5.SubscribePacket, pattern: str
) -> int:
    """About how many bytes a subscription will take, where there is room for them."""
    size = weight_of(pattern, sum(len(value) for _, value in packet.user_properties))
    ledger, limits = broker.ledger, broker.settings.limits
    if session.held + size > limits.session_bytes:
        raise Refused(reason_codes.QUOTA_EXCEEDED, "the session holds too much")
    full = session.durable and ledger.store_is_full
    if full or ledger.subscriptions + size > limits.subscription_bytes:
        raise Refused(reason_codes.QUOTA_EXCEEDED, "no room for more subscriptions")
    return size


def _put(broker: BrokerState, session: ClientSession, subscription: ClientSubscription) -> bool:
    """Makes the subscription count; whether it replaced one (MQTT-3.8.4-3)."""
    old = session.subscribe(subscription)
    if old is None:
        broker.matching.add(subscription)
    else:
        broker.matching.replace(old, subscription)
    broker.journal.subscribe(subscription)
    return old is not None


def _wants_retained(asked: mqtt5.TopicFilter, parsed: Pattern, *, replaced: bool) -> bool:
    """Retain handling (3.8.3.1); shared subscriptions get no retained messages (4.8.2)."""
    if parsed.group is not None:
        return False
    handling = int(asked.retain_handling)
    return handling == 0 or (handling == 1 and not replaced)


def on_unsubscribe(broker: BrokerState, connection: Connection, session: ClientSession,
                   packet: mqtt5.UnsubscribePacket, _: float) -> None:  # fmt: skip
    """Removes subscriptions; deliveries under way go on (3.10.4)."""
    if packet.packet_id == 0:
        raise protocol_error("packet identifier 0")
    if not packet.patterns:
        raise protocol_error("an UNSUBSCRIBE without a topic filter")
    codes = [_remove(broker, session, pattern) for pattern in packet.patterns]
    connection.acknowledge_unsubscribe(packet.packet_id, codes)


def _remove(broker: BrokerState, session: ClientSession, pattern: str) -> int:
    if parse_pattern(pattern, broker.settings.limits.maximum_levels) is None:
        return reason_codes.FILTER_INVALID
    subscription = session.unsubscribe(pattern)
    if subscription is None:
        return reason_codes.NO_SUBSCRIPTION_EXISTED
    broker.matching.remove(subscription)
    broker.journal.unsubscribe(session, pattern)
    return reason_codes.SUCCESS

"""Subscriptions to events at a border: `detect` on SUBSCRIBE, with `geofence` or `around`.

The subscription is matched with a ring around its geofence; what comes from there goes to a
`zonal.border` machine, and its client gets the events as messages under the things' topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from zonal.border import Border, BorderPlan, NotedPlace, ZoneSet
from zonal.broker.message import Encodings, Message
from zonal.errors import FenceError, GeometryError
from zonal.geo import Area, Circle, Point, area_from_dict, widened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.border import FenceEvent
    from zonal.broker.timers import Deadline, Timers

DETECT, ZONE = "detect", "zone"
REACH_M = 500.0
_NOWHERE = Circle(Point(0.0, 0.0), radius_m=0.0)


class EventReceiver(Protocol):
    """A subscription as a watch sees it; its session is a `ClientSession`."""

    session: Any
    pattern: str
    qos: int
    copy: Any
    watch: BorderWatch | None


class BorderWatch:
    """What a client wants to know of a border, and the state of the things there.

    Args:
        area: the zone; a circle without a centre is around the client.
        text: the value of `detect`, such as `enter,leave,dwell:60s`.
        zone: its name, for the events.
        timers: the broker's.
    """

    def __init__(self, area: Area, text: str, zone: str | None, timers: Timers) -> None:
        try:
            self.plan = BorderPlan.read(text)
        except FenceError as error:
            raise GeometryError(f"user property detect: {error}") from error
        self.area = area
        self.text = text
        self.zone = zone
        self._timers = timers
        self._deadline: Deadline | None = None
        # One that follows its client is nowhere until that is somewhere.
        placed = _NOWHERE if area.is_ego_centric else area
        self._border = Border(ZoneSet((zone,), (placed,)), self.plan)

    @property
    def matched(self) -> Area:
        """What the subscription is matched with: the zone and a ring around it."""
        return widened(self.area, max(REACH_M, 2 * self.plan.hysteresis_m))

    def to_dict(self) -> dict[str, Any]:
        """For the store: the area with what is detected there."""
        return {**self.area.to_dict(), DETECT: self.text, ZONE: self.zone}

    def take(self, receiver: EventReceiver, message: Message, now: float) -> None:
        """A thing has sent this."""
        if message.location is not None:
            noted = _noted(message, now)
            self._tell(receiver, self._border.update([noted]), now)

    def resume(self, message: Message) -> None:
        """A thing was here before the client subscribed: that is no event."""
        if message.location is not None and message.retained_at:
            self._border.resume([_noted(message, message.retained_at)])

    def move(self, receiver: EventReceiver, place: Point, now: float) -> None:
        """The client is here now, and a zone around it as well."""
        if self.area.is_ego_centric:
            self._tell(receiver, self._border.move_zone(self.area.at(place), _micros(now)), now)

    def _tell(self, receiver: EventReceiver, events: list[FenceEvent], now: float) -> None:
        for event in events:
            encodings = Encodings(_message(event), now)
            receiver.session.deliver(encodings, receiver.qos, False, receiver.copy.identifiers)
        self._remind(receiver)

    def _remind(self, receiver: EventReceiver) -> None:
        due = self._border.next_deadline
        if due is None or (self._deadline is not None and self._deadline.due is not None):
            return

        def pass_time(now: float) -> None:
            if receiver.session.subscriptions.get(receiver.pattern) is receiver:
                self._tell(receiver, self._border.pass_time(_micros(now)), now)

        self._deadline = self._timers.at(due / 1e6 + 0.001, pass_time)


def follow(receiver: EventReceiver, now: float) -> None:
    """A client has moved, and a border around it as well."""
    place = receiver.session.location
    if receiver.watch is not None and place is not None:
        receiver.watch.move(receiver, place, now)


def watch_of(
    area: Area | None, properties: Sequence[tuple[str, str]], timers: Timers
) -> BorderWatch | None:
    """What a SUBSCRIBE wants to be told of a border; `GeometryError` where that cannot be."""
    given = [(name, value) for name, value in properties if name in {DETECT, ZONE}]
    values = dict(given)
    if DETECT not in values:
        return None
    if area is None:
        raise GeometryError("user property detect: needs geofence or around, whose border it is")
    if len(values) < len(given):
        raise GeometryError("user property detect: given more than once")
    return BorderWatch(area, values[DETECT], values.get(ZONE), timers)


def watch_from_dict(values: dict[str, Any], timers: Timers) -> BorderWatch | None:
    """What the store kept; None of a subscription to messages."""
    if DETECT not in values:
        return None
    return BorderWatch(area_from_dict(values), values[DETECT], values.get(ZONE), timers)


def _noted(message: Message, now: float) -> NotedPlace:
    assert message.location is not None
    lat, lon = message.location
    return NotedPlace(message.topic, lat, lon, _micros(now), message)


def _micros(now: float) -> int:
    return round(now * 1e6)


def _message(event: FenceEvent) -> Message:
    """The event as a message: what the thing sent, with what happened in user properties."""
    shown: Message | None = event.sample
    message = Message(event.thing, b"" if shown is None else shown.payload)
    told = [("event", event.kind), ("thing", event.thing)]
    if event.zone is not None:
        told.append(("zone", event.zone))
    if event.kind == "leave":
        told.append(("reason", event.reason))
    if shown is not None:
        message.payload_format, message.content_type = shown.payload_format, shown.content_type
        told = [*shown.user_properties, *told]
    elif event.location is not None:
        told.append(("location", f"{event.location.lat!r},{event.location.lon!r}"))
    message.user_properties = told
    message.location = event.location
    return message

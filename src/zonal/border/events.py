"""What is asked of a border, and what it tells."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from zonal.errors import FenceError

if TYPE_CHECKING:
    from zonal.geo import Point

_UNITS = {"dwell": "s", "silence": "s", "hysteresis": "m"}

KINDS = ("enter", "leave", "cross", "dwell")
"""All kinds of events."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(micros: int) -> datetime:
    """The time of so many microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)


def micros_of(when: datetime) -> int:
    """Microseconds from 1970 to this time."""
    return (when - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class FenceEvent:
    """Something that happened at the border of a zone."""

    kind: str
    """`enter`, `leave`, `cross` (it went through within one step) or `dwell`."""
    thing: str
    zone: str | None
    """The zone's name; None where it has none."""
    at: datetime
    """When: the time stamp of the message that showed it, or the moment that a time was over."""
    since: datetime | None = None
    """With `leave` and `dwell`: when it came in; None where that was before we watched."""
    location: Point | None = None
    """Where the thing was last."""
    previous: Point | None = None
    """Where it was one message earlier; None where that is not known."""
    reason: str = "moved"
    """Why it left: `moved`, `silent` or `deleted`."""
    sample: Any = None
    """The message that showed it; None where there was none: it stayed, or fell silent."""

    def to_dict(self) -> dict[str, Any]:
        """All but the message, for JSON: times as RFC 3339, places as latitude and longitude."""
        return {
            "event": self.kind,
            "thing": self.thing,
            "zone": self.zone,
            "at": _text_of(self.at),
            "since": None if self.since is None else _text_of(self.since),
            "location": _numbers_of(self.location),
            "previous": _numbers_of(self.previous),
            "reason": self.reason,
        }


def _text_of(when: datetime) -> str:
    return when.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _number_of(name: str, value: str) -> float:
    unit = _UNITS.get(name)
    try:
        if unit is None or not value.endswith(unit):
            raise ValueError  # noqa: TRY301  (said below)
        return float(value.removesuffix(unit))
    except ValueError as error:
        raise FenceError(f"{name}:{value} is no {name}:60{unit or ''}") from error


def _numbers_of(place: Point | None) -> dict[str, float] | None:
    return None if place is None else {"lat": place.lat, "lon": place.lon}


@dataclass(frozen=True, slots=True)
class BorderPlan:
    """Which events are wanted, and when they happen.

    A thing enters where its place is in the zone or on its edge, and leaves where it is farther
    than `hysteresis_m` from the zone.
    """

    on: tuple[str, ...] = ("enter", "leave")
    dwell_s: float | None = None
    """A thing that is in a zone for so long *dwells*, once a stay."""
    hysteresis_m: float = 0.0
    silence_s: float | None = None
    """A thing that was not heard of for longer has left, for the reason `silent`."""

    @classmethod
    def read(cls, text: str) -> BorderPlan:
        """What people write in one line: `enter,leave,dwell:60s,silence:120s,hysteresis:25m`."""
        on: list[str] = []
        numbers: dict[str, float] = {}
        for part in text.split(","):
            name, colon, value = part.strip().partition(":")
            if colon:
                numbers[name] = _number_of(name, value)
            if name in KINDS:
                on.append(name)
            elif not colon or name not in _UNITS:
                known = ", ".join((*KINDS, "silence:120s", "hysteresis:25m"))
                raise FenceError(f"{part.strip()!r} is none of {known}")
        return cls(
            tuple(on),
            numbers.get("dwell"),
            numbers.get("hysteresis", 0.0),
            numbers.get("silence"),
        )

    def __post_init__(self) -> None:
        object.__setattr__(self, "on", tuple(self.on))
        for kind in self.on:
            if kind not in KINDS:
                raise FenceError(f"events are {', '.join(KINDS)}, not {kind!r}")
        if not self.on:
            raise FenceError(f"on= names at least one of {', '.join(KINDS)}")
        for name in ("dwell_s", "silence_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise FenceError(f"{name} is a positive number of seconds, not {value}")
        if ("dwell" in self.on) != (self.dwell_s is not None):
            raise FenceError("dwell in on= and dwell_s= belong together")
        if not 0 <= self.hysteresis_m < float("inf"):
            raise FenceError(f"hysteresis_m is a length of at least 0 m, not {self.hysteresis_m}")

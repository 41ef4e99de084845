"""What somebody may do over REST: the rules of its token and of the deployment, asked together."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from zonal.geo import Cell, Point
from zonal.keys import refine
from zonal.session import NearSample
from zonal.trust import Action
from zonal.web.problem import Problem

if TYPE_CHECKING:
    from zonal.border import FenceEvent
    from zonal.geo import Area
    from zonal.keys import Place
    from zonal.session import Sample
    from zonal.trust import Rules


@dataclass(frozen=True, slots=True, eq=False)
class WebGrant:
    """Somebody's rights; two are the same only if they are one object."""

    name: str | None
    """The user, as rules call it; None: somebody without a name."""
    rules: tuple[Rules, ...] = ()
    """All of them have to allow what is done; without any, everything is allowed."""
    fenced: bool = False
    """Whether geofenced messages are shown wherever one is."""
    metrics: bool = False
    """Whether the counters are shown; they name topics."""
    admin: bool = False
    """Whether Zenoh's admin space is shown."""
    sha256: bytes = field(default=b"", repr=False)
    """The hash of its token."""

    def equals(self, other: WebGrant) -> bool:
        """Whether another one grants the same to the same token."""
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def may_write(self) -> bool:
        """Whether there is anything that it may publish."""
        return all(
            any(rule.allows for rule in rules.of(self.name, Action.PUBLISH)) for rules in self.rules
        )

    def check_message(self, key: str, location: Point | None, fence: Area | None) -> float | None:
        """Refuse a message that is not allowed; how finely its place may be told, in metres."""
        finest = []
        for rules in self.rules:
            verdict = rules.may_publish(self.name, key, location, fence, position=location)
            if not verdict.allowed:
                raise Problem(403, f"{key}: {verdict.reason}")
            finest.append(verdict.precision_m or 0.0)
        return max(finest, default=0.0) or None

    def narrowed(
        self, action: Action, key: str, area: Area | None, own: Point | None
    ) -> tuple[Area | None, str]:
        """What may be heard of an area, and what to say of it where that is less; or refuse."""
        said = ""
        for rules in self.rules:
            ask = rules.may_hear if action is Action.SUBSCRIBE else rules.may_ask
            verdict = ask(self.name, key, area, position=own)
            if not verdict.allowed:
                raise Problem(403, f"{key}: {verdict.reason}")
            area, said = verdict.area, verdict.reason or said
        return area, said

    def own(self, action: Action, key: str, location: Point | None) -> Point | None:
        """Where a reader may say that it is: fences around other places are not for it."""
        if location is None or self._told(action, key, location, location) is None:
            return None
        return location

    def sees(self, asked: Asked, sample: Sample) -> Sample | None:
        """A message as it may be seen; None: not at all."""
        if not self.rules and self.fenced:
            return sample
        if not (self.fenced or is_for(sample, asked.own)):
            return None
        key = sample.key
        if sample.place is None:
            return sample if self._may_receive(asked.action, key, asked.own) else None
        place = self._told(asked.action, key, sample.place, asked.own)
        if place is None or not (asked.area is None or refine(asked.area, place)):
            return None
        return sample if place is sample.place else _told(sample, place, asked.near)

    def sees_event(self, asked: Asked, happened: FenceEvent) -> FenceEvent:
        """An event at a border without what may not be seen of places."""
        if not self.rules:
            return happened
        sample, seen = happened.sample, dict[str, Any]()
        key = asked.key if sample is None else sample.key
        for name in ("location", "previous"):
            if (place := getattr(happened, name)) is not None:
                told = self._told(asked.action, key, place, asked.own)
                seen[name] = told.center if isinstance(told, Cell) else told
        if sample is not None:
            seen["sample"] = self.sees(replace(asked, area=None), sample)
        return replace(happened, **seen)

    def _told(self, action: Action, key: str, place: Place, own: Point | None) -> Place | None:
        told: Place | None = place
        for rules in self.rules:
            verdict = rules.may_receive(self.name, key, place, position=own, action=action)
            if not verdict.allowed:
                return None
            told = verdict.told(told)
        return told

    def _may_receive(self, action: Action, key: str, own: Point | None) -> bool:
        return all(
            rules.may_receive(self.name, key, None, position=own, action=action).allowed
            for rules in self.rules
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """What a reader asked for."""

    action: Action
    key: str
    area: Area | None = None
    own: Point | None = None
    """Where it is, as it says and may say."""
    near: Point | None = None
    """What distances are from."""


ANYBODY = WebGrant(None, fenced=True, metrics=True, admin=True)
"""For everyone on this machine, where neither tokens nor rules are set."""


def is_for(sample: Sample, own: Point | None) -> bool:
    """Whether a message is for somebody who says to be here.

    A fence that wants somebody to vouch for it is for nobody who only says so.
    """
    context = sample.context
    if context is None or context.fence is None:
        return True
    return own is not None and not context.attested and context.fence.contains(own)


def _told(sample: Sample, place: Place, near: Point | None) -> Sample:
    """A copy whose place, and distance, are those that are told."""
    _ = sample.context  # read while it has its own place
    told = copy.copy(sample)
    told.place = place
    if isinstance(told, NearSample) and near is not None:
        middle = place.center if isinstance(place, Cell) else place
        told.distance_m = near.distance_m(middle)
    return told

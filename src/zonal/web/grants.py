"""What somebody may do: which keys to read, hear and write, about which area."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import zenoh

from zonal.keys import refine
from zonal.web.problem import Problem

if TYPE_CHECKING:
    from zonal.border import FenceEvent
    from zonal.geo import Area, Point
    from zonal.keys import Place
    from zonal.session import Sample

Right = Literal["read", "events", "write"]
RIGHTS: tuple[Right, ...] = ("read", "events", "write")
"""Queries, event streams, messages."""


@dataclass(frozen=True, slots=True)
class WebGrant:
    """Rights by key expression, within an area.

    A key is granted where one of the expressions includes it whole: who may read `city/air/**`
    may not ask for `city/**`. Zenoh's admin space is granted by its own name alone (`@/**`).
    """

    name: str
    """Who it is."""
    read: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    area: Area | None = None
    """Messages from elsewhere, or from nowhere, are neither shown nor taken; None: any."""
    fenced: bool = False
    """Whether geofenced messages are shown wherever one is."""
    metrics: bool = False
    """Whether the counters are shown; they name topics."""
    sha256: bytes = field(default=b"", repr=False)
    """The hash of the token that it belongs to."""

    def check_key(self, right: Right, key: str) -> None:
        """Refuse a key that is not granted."""
        granted: tuple[str, ...] = getattr(self, right)
        if not any(_includes(expression, key) for expression in granted):
            may = f"may {right} {', '.join(granted)}" if granted else f"has no right to {right}"
            raise Problem(403, f"{self.name} {may}; not {key}")

    def check_place(self, location: Point | None) -> None:
        """Refuse a message from outside the area."""
        if not self.holds(location):
            where = "without a place" if location is None else "from there"
            raise Problem(403, f"{self.name} may not write {where}, only from within its area")

    def holds(self, place: Place | None) -> bool:
        """Whether a place is within the area; what has no place is nowhere."""
        return self.area is None or (place is not None and refine(self.area, place))

    def own(self, location: Point | None) -> Point | None:
        """Where a reader may say that it is: fences around places elsewhere are not for it."""
        return location if self.holds(location) else None

    def shows(self, sample: Sample, own: Point | None) -> bool:
        """Whether an answer is for this reader, who says to be at `own`."""
        if not self.holds(sample.place):
            return False
        fence = None if self.fenced else sample.geofence
        return fence is None or (own is not None and fence.contains(own))


ANYBODY = WebGrant(
    "anybody", ("**", "@/**"), ("**", "@/**"), ("**", "@/**"), fenced=True, metrics=True
)
"""For everyone on this machine, where no tokens are set."""


def within(area: Area, happened: FenceEvent) -> FenceEvent:
    """An event at a border without what it tells of places outside an area."""
    unseen: dict[str, Any] = {
        name: None
        for name in ("location", "previous")
        if (place := getattr(happened, name)) is not None and not area.contains(place)
    }
    place = None if happened.sample is None else happened.sample.place
    if place is None or not refine(area, place):
        unseen["sample"] = None
    return replace(happened, **unseen)


@lru_cache(4_096)
def _includes(expression: str, key: str) -> bool:
    try:
        return zenoh.KeyExpr(expression).includes(zenoh.KeyExpr.autocanonize(key))
    except zenoh.ZError as error:
        raise Problem(400, f"{key!r} is no key expression") from error

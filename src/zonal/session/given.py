"""What users give to a session, checked before anything is declared or sent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from zonal.errors import ConfigurationError, GeometryError
from zonal.geo import as_area, as_point

if TYPE_CHECKING:
    from zonal.geo import Area, GivenArea, GivenPoint, Point


def point_given(location: GivenPoint | None) -> Point | None:
    """A location that a user gave, or none."""
    return None if location is None else as_point(location)


def area_given(area: GivenArea | None) -> Area | None:
    """An area that a user gave, or none."""
    return None if area is None else as_area(area)


def check_handler(handler: object) -> None:
    """A callback, or none; anything else is a `ConfigurationError`."""
    if handler is not None and not callable(handler):
        raise ConfigurationError(f"a handler is a function to call, not {handler!r}")


def check_seconds(timeout: float) -> None:
    """How long to wait: a number of seconds, 0 or more; else a `ConfigurationError`."""
    if not isinstance(timeout, int | float) or not 0 <= timeout < math.inf:
        raise ConfigurationError(f"a timeout is a number of seconds, 0 or more, not {timeout!r}")


def check_length(name: str, metres: float | None) -> None:
    """A length of 0 m or more, or none; anything else is a `GeometryError`."""
    if metres is not None and not (isinstance(metres, int | float) and 0 <= metres < math.inf):
        raise GeometryError(f"{name}= is a length of 0 m or more, not {metres!r}")

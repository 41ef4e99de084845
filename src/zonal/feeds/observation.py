"""What a feed says: one thing, seen at a place and a moment."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

from zonal.errors import FeedError, GeometryError
from zonal.geo import Point

_UNFIT = re.compile(r"[/*$#?@+\s\x00-\x1f]+")
_LARGEST_SECONDS = 1e11
"""Numbers above it are milliseconds: 1e11 seconds are the year 5138."""


class Observation(NamedTuple):
    """A thing as a feed saw it."""

    name: str
    """The topic below the feed's own: chunks that are fit for keys."""
    place: Point | None
    value: dict[str, Any]
    """What else is known of it; sent as JSON."""
    moment: datetime | None = None


def chunk(text: object) -> str:
    """A text as one chunk of a key: what keys do not take becomes `_`."""
    return _UNFIT.sub("_", str(text).strip()) or "unknown"


def place_of(latitude: Any, longitude: Any) -> Point | None:
    """The point, if the two are one; feeds have empty fields, and 0, 0 where nothing is known."""
    try:
        lat, lon = float(latitude), float(longitude)
        return None if lat == lon == 0.0 else Point(lat, lon)
    except (TypeError, ValueError, GeometryError):
        return None


def moment_of(given: Any) -> datetime | None:
    """A moment from seconds or milliseconds since 1970, or from ISO 8601 (UTC where it is silent).

    None where it is neither.
    """
    try:
        if isinstance(given, str) and not given.replace(".", "", 1).isdecimal():
            told = datetime.fromisoformat(given.strip())
            return told if told.tzinfo else told.replace(tzinfo=UTC)
        seconds = float(given)
        return datetime.fromtimestamp(
            seconds / 1000 if seconds > _LARGEST_SECONDS else seconds, UTC
        )
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def number_or_text(given: Any) -> Any:
    """A number where a text is one."""
    if not isinstance(given, str):
        return given
    try:
        number = float(given)
    except ValueError:
        return given
    return given if not math.isfinite(number) else int(number) if number.is_integer() else number


def known(**members: Any) -> dict[str, Any]:
    """The members that are known."""
    return {name: value for name, value in members.items() if value not in (None, "")}


def read_json(data: bytes, what: str) -> Any:
    """JSON of a feed; `FeedError` where it is none."""
    try:
        return json.loads(data)
    except ValueError as error:
        raise FeedError(f"{what} is no JSON: {error}") from error

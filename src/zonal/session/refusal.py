"""What Zenoh refuses, told as errors of ours: without the places in its own source code."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import zenoh

from zonal.errors import ClosedError, NetworkError, ZonalError

if TYPE_CHECKING:
    from collections.abc import Iterator

_SOURCE_PLACE = re.compile(r"\s*\bat /\S*?\.rs:\d+\.?")


def reason_of(error: Exception) -> str:
    """What Zenoh says, without the files and lines of its source code."""
    return _SOURCE_PLACE.sub("", str(error)).strip()


def refusal(session: zenoh.Session, what: str, error: zenoh.ZError) -> ZonalError:
    """The error to raise when Zenoh refused to do something."""
    if session.is_closed():
        return ClosedError(f"cannot {what}: the session is closed")
    return NetworkError(f"cannot {what}: {reason_of(error)}")


@contextmanager
def refusals(session: zenoh.Session, what: str) -> Iterator[None]:
    """What Zenoh refuses within is raised as our own error: “cannot declare … : why”."""
    try:
        yield
    except zenoh.ZError as error:
        raise refusal(session, what, error) from error

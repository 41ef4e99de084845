"""Another name of a session, for messages that must not be linked with its others.

A message from a blurred place says which session sent it, as all do: copies are told apart by that.
With the session's own id, a single message from an exact place would tell where the others are
from. So messages from blurred places have a source and a clock of their own.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from zonal.session.sample import origin_of
from zonal.session.stamps import stamp_from_parts, stamp_parts
from zonal.session.way import Origin

if TYPE_CHECKING:
    import zenoh

_ID_BYTES = 16


class Alias:
    """A random id, the numbers of the messages under it, and time stamps that carry it."""

    def __init__(self, session: zenoh.Session) -> None:
        self._session = session
        self._clock = f"{secrets.randbits(8 * _ID_BYTES) | 1:x}"
        self.origin = Origin(origin_of(self._clock))

    def stamp(self) -> zenoh.Timestamp:
        """The time of the session's clock, under the other id."""
        time, _ = stamp_parts(self._session.new_timestamp())
        return stamp_from_parts(time, self._clock)

"""Who connects to a router, and who leaves: a line each in the log, and figures."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

import zenoh

from zonal.runtime import SparingLog

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)


class Visits:
    """Notes the links of a Zenoh session, from any of Zenoh's threads."""

    def __init__(self) -> None:
        self.came = 0
        self.left = 0
        self.refused = 0
        """Connections that were not let in, as far as somebody tells."""
        self.on_came: Callable[[str], None] = lambda _: None
        """Is told the address of a link that was let in."""
        self._listener: object = None
        self._log = SparingLog(logger)
        self._lock = threading.Lock()

    def watch(self, session: zenoh.Session) -> None:
        """Note the links of a session until it is closed, and those that it has."""
        # It ends with the session, or with the last reference.
        self._listener = session.info.declare_link_events_listener(self._note, history=True)

    def refuse(self, address: str | None, reason: str) -> None:
        """Note that a connection was not let in; its address, if that is known."""
        self.refused += 1
        told = {"event": "refused", "address": address, "reason": reason}
        shown = "a connection from %(address)s is refused: %(reason)s"
        self._write(
            logging.WARNING, shown if address else "a connection is refused: %(reason)s", told
        )

    def _note(self, event: zenoh.LinkEvent) -> None:
        link = event.link
        told = {"zid": str(link.zid), "address": str(link.dst), "user": link.auth_identifier}
        if event.kind == zenoh.SampleKind.PUT:
            self.came += 1
            self.on_came(str(link.dst))
            shown = "%(zid)s connected from %(address)s"
            if link.auth_identifier is not None:
                shown += ", with the certificate of %(user)r"
            self._write(logging.INFO, shown, told | {"event": "came"})
        else:
            self.left += 1
            self._write(logging.INFO, "%(zid)s left, from %(address)s", told | {"event": "left"})

    def _write(self, level: int, text: str, told: dict[str, str | None]) -> None:
        with self._lock:
            self._log.write(level, text, told, time.monotonic())


def kinds_of(session: zenoh.Session) -> Counter[str]:
    """How many clients, peers and routers are connected."""
    found = Counter({"client": 0, "peer": 0, "router": 0})
    found.update(str(each.whatami).lower() for each in session.info.transports())
    return found

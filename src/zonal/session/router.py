"""A stock Zenoh router in this process, for tests, demos and small installations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import zenoh

from zonal.errors import NetworkError, ZonalError
from zonal.session.config import config
from zonal.session.refusal import reason_of
from zonal.session.security import refuse_open_listeners
from zonal.session.unclosed import Closing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from zonal.session.security import Security

DEFAULT_ENDPOINT = "tcp/127.0.0.1:7447"
"""Zenoh's own port, on loopback."""


class Router(Closing):
    """An unmodified Zenoh router; port 0 in an endpoint takes a free one (see `endpoints`).

    To listen beyond this machine it needs `security` with users or a client CA: else it is refused
    with `ConfigurationError`, unless `insecure` says that all may come.
    """

    def __init__(
        self,
        listen: Iterable[str] = (DEFAULT_ENDPOINT,),
        *,
        connect: Iterable[str] = (),
        scouting: bool = False,
        security: Security | None = None,
        json5: Path | str | None = None,
        insecure: bool = False,
        settings: dict[str, Any] | None = None,
    ) -> None:
        given = {"adminspace/enabled": True, **(settings or {})}
        listen = [listen] if isinstance(listen, str) else list(listen)
        asked = config(
            "router",
            listen=listen,
            connect=connect,
            scouting=scouting,
            security=security,
            json5=json5,
            settings=given,
        )
        if not insecure:
            refuse_open_listeners(asked)
        try:
            self.zenoh = zenoh.open(asked)
        except zenoh.ZError as error:
            raise NetworkError(
                f"cannot start a router on {', '.join(listen)}: {reason_of(error)}"
            ) from error
        self._close_at_exit()

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Where clients and other routers can connect."""
        return tuple(self._state()["locators"])

    @property
    def neighbours(self) -> int:
        """How many sessions are connected: clients, peers and other routers."""
        return len(self._state()["sessions"])

    def _state(self) -> dict[str, Any]:
        zid = str(self.zenoh.zid())
        for reply in self.zenoh.get(f"@/{zid}/router", timeout=5.0):
            if reply.ok is not None:
                state: dict[str, Any] = json.loads(reply.ok.payload.to_string())
                return state
        raise ZonalError("the router does not answer about itself; is its adminspace disabled?")

    def close(self) -> None:
        """Stop routing; safe to call twice."""
        if not self.zenoh.is_closed():
            self.zenoh.close()

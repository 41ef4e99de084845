"""A stock Zenoh router in this process, for tests, demos and small installations."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

import zenoh

from zonal.errors import NetworkError, ZonalError
from zonal.session.config import config
from zonal.session.refusal import reason_of
from zonal.session.security import refuse_open_listeners
from zonal.session.unclosed import Closing
from zonal.session.visits import Visits, kinds_of

if TYPE_CHECKING:
    from collections import Counter
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
        self._listen = [listen] if isinstance(listen, str) else list(listen)
        self._insecure = insecure
        self._make = functools.partial(
            config, "router", connect=list(connect), scouting=scouting, security=security,
            json5=json5,
        )  # fmt: skip
        self.visits = Visits()
        """Who came and left, once `watch_visits` was called."""
        self._watches = False
        self.zenoh = self._opened(self._asked(self._listen, settings))
        self._settings = settings
        self._close_at_exit()

    def watch_visits(self) -> None:
        """Log who comes and leaves from now on, and count them in `visits`."""
        self._watches = True
        self.visits.watch(self.zenoh)

    def reload(self, settings: dict[str, Any] | None = None) -> None:
        """Read users and certificates anew, where Zenoh reads them: in a new router at its place.

        All links end; those who are still let in come back by themselves, within seconds. Other
        `settings` replace those of before. If the new configuration is wrong, the router stays as
        it is, and the error is raised.
        """
        settings = self._settings if settings is None else settings
        asked = self._asked(self._bound(), settings)
        self.zenoh.close()
        self.zenoh, self._settings = self._opened(asked), settings
        if self._watches:
            self.visits.watch(self.zenoh)

    def _asked(self, listen: list[str], settings: dict[str, Any] | None) -> zenoh.Config:
        made = self._make(listen=listen, settings={"adminspace/enabled": True, **(settings or {})})
        if not self._insecure:
            refuse_open_listeners(made)
        return made

    def _opened(self, asked: zenoh.Config) -> zenoh.Session:
        try:
            return zenoh.open(asked)
        except zenoh.ZError as error:
            raise NetworkError(
                f"cannot start a router on {', '.join(self._listen)}: {reason_of(error)}"
            ) from error

    def _bound(self) -> list[str]:
        """Where it listens, with the ports that it took."""
        taken: dict[str, list[str]] = {}
        for each in self.endpoints:
            ports = taken.setdefault(each.partition("/")[0], [])
            if (port := each.rpartition(":")[2]) not in ports:
                ports.append(port)
        given = [each.rpartition(":")[2] for each in self._listen]
        found = []
        for endpoint in self._listen:
            if endpoint.endswith(":0"):
                ports = taken[endpoint.partition("/")[0]]
                port = next(each for each in ports if each not in given)
                given.append(port)
                found.append(endpoint[:-1] + port)
            else:
                found.append(endpoint)
        return found

    @property
    def kinds(self) -> Counter[str]:
        """How many clients, peers and routers are connected."""
        return kinds_of(self.zenoh)

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

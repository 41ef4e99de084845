"""A stock Zenoh router in a node: `python -m zonal_lab.systems.router`.

It is the router of Zenoh's Python library, or a process of `zenohd`.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import zenoh

from zonal_lab.emulation import EndRole, read_counters, serve
from zonal_lab.systems.local import cpu_seconds_of
from zonal_lab.systems.nodes import node_settings
from zonal_lab.systems.zenohd import Zenohd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal_lab.emulation import Answer


class RouterRole(EndRole):
    """Opens a router for a run and closes it afterwards."""

    def orders(self) -> dict[str, Answer]:
        """Open, tell how many routers it is linked to, and what it has used."""
        return {"open": self._open, "linked": self._linked, "read": self._read}

    def _linked(self) -> dict[str, Any]:
        if isinstance(self._end, Zenohd):
            return {"routers": self._end.routers()}
        assert self._end is not None
        return {"routers": len(self._end.info.routers_zid())}

    def _read(self) -> dict[str, float]:
        """What the card has carried, and what the router has used: `zenohd`, where it is one."""
        counters = read_counters()
        if isinstance(self._end, Zenohd):
            counters["cpu_seconds"] = cpu_seconds_of(self._end.pid)
        return counters

    def _open(
        self,
        listen: str | Sequence[str],
        connect: Sequence[str],
        tls: dict[str, Any] | None = None,
        program: str | None = None,
        admin: bool = False,
    ) -> dict[str, Any]:
        here = [listen] if isinstance(listen, str) else listen
        settings = node_settings("router", listen=here, connect=connect, tls=tls)
        if admin:
            settings["adminspace"] = {"enabled": True, "permissions": {"read": True}}
        if program is not None:
            self._end = Zenohd(program, settings)
            return {"zid": self._end.zid, "pid": self._end.pid}
        self._end = zenoh.open(zenoh.Config.from_json5(json.dumps(settings)))
        return {"zid": str(self._end.zid()), "pid": os.getpid()}


if __name__ == "__main__":
    serve(RouterRole())

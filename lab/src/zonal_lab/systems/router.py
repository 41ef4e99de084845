"""A stock Zenoh router in a node: `python -m zonal_lab.systems.router`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import zenoh

from zonal_lab.emulation import EndRole, serve
from zonal_lab.systems.nodes import node_config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal_lab.emulation import Answer


class RouterRole(EndRole):
    """Opens a router for a run and closes it afterwards."""

    def orders(self) -> dict[str, Answer]:
        """Open, and tell how many routers it is linked to."""
        return {"open": self._open, "linked": self._linked}

    def _linked(self) -> dict[str, Any]:
        assert self._end is not None
        return {"routers": len(self._end.info.routers_zid())}

    def _open(
        self,
        listen: str | Sequence[str],
        connect: Sequence[str],
        tls: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        here = [listen] if isinstance(listen, str) else listen
        self._end = zenoh.open(node_config("router", listen=here, connect=connect, tls=tls))
        return {"zid": str(self._end.zid())}


if __name__ == "__main__":
    serve(RouterRole())

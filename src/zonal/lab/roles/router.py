"""A stock Zenoh router in a node: `python -m zonal.lab.roles.router`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import zenoh

from zonal.lab.roles.node import node_config, read_counters, serve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.lab.roles.node import Answer


class RouterRole:
    """Opens a router for a run and closes it afterwards."""

    def __init__(self) -> None:
        self._router: zenoh.Session | None = None

    def obey(self, order: str, **details: Any) -> dict[str, Any]:
        """Orders: open, linked, read, close."""
        answers: dict[str, Answer] = {
            "open": self._open,
            "linked": self._linked,
            "read": read_counters,
            "close": self._close,
        }
        return answers[order](**details)

    def _linked(self) -> dict[str, Any]:
        assert self._router is not None
        return {"routers": len(self._router.info.routers_zid())}

    def _open(self, listen: str, connect: Sequence[str]) -> dict[str, Any]:
        self._router = zenoh.open(node_config("router", listen=[listen], connect=connect))
        return {"zid": str(self._router.zid())}

    def _close(self) -> dict[str, Any]:
        if self._router is not None:
            self._router.close()
            self._router = None
        return {}


if __name__ == "__main__":
    serve(RouterRole())

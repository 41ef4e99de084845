"""Clients of a router that want something: `python -m zonal_lab.scale.declarer`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import zenoh

from zonal import config
from zonal_lab.emulation import EndRole, serve

if TYPE_CHECKING:
    from zonal_lab.emulation import Answer

A_SESSION = 500
"""Keys of one client: a session needs the longer for one the more it has, a router takes 1,000."""


class DeclarerRole(EndRole):
    """Opens sessions at a router and declares keys, so many in each."""

    def orders(self) -> dict[str, Answer]:
        """Declare."""
        return {"declare": self._declare}

    def _declare(self, endpoint: str, keys: list[str]) -> dict[str, Any]:
        self._end = contextlib.ExitStack()
        # An indirect callback has a thread of its own: too many for one machine.
        nobody: Any = zenoh.handlers.Callback(lambda _: None, indirect=False)
        for start in range(0, len(keys), A_SESSION):
            session = self._end.enter_context(zenoh.open(config("client", connect=[endpoint])))
            for key in keys[start : start + A_SESSION]:
                session.declare_subscriber(key, nobody)
        return {}


if __name__ == "__main__":
    serve(DeclarerRole())

"""The end that echoes two bytes: `python -m zonal_lab.latency.roles.far`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zonal_lab.emulation import EndRole, serve
from zonal_lab.latency.ends import open_end

if TYPE_CHECKING:
    from zonal_lab.emulation import Answer


class FarRole(EndRole):
    """Answers every message with its number."""

    def orders(self) -> dict[str, Answer]:
        """Open."""
        return {"open": self._open}

    def _open(self, stack: str, where: dict[str, Any]) -> dict[str, Any]:
        self._end = open_end(stack, where, self._hear, near=False)
        return {}

    def _hear(self, payload: bytes) -> None:
        # A message can come in before `open_end` has returned; the near end will ask again.
        if self._end is not None:
            self._end.send(payload[:2])


if __name__ == "__main__":
    serve(FarRole())

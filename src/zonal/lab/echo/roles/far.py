"""The end that echoes two bytes: `python -m zonal.lab.echo.roles.far`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zonal.lab.echo.ends import open_end
from zonal.lab.roles.node import read_counters, serve

if TYPE_CHECKING:
    from zonal.lab.echo.ends import End
    from zonal.lab.roles.node import Answer


class FarRole:
    """Answers every message with its number."""

    def __init__(self) -> None:
        self._end: End | None = None

    def obey(self, order: str, **details: Any) -> dict[str, Any]:
        """Orders: open, read, close."""
        answers: dict[str, Answer] = {
            "open": self._open,
            "read": read_counters,
            "close": self._close,
        }
        return answers[order](**details)

    def _open(self, stack: str, where: dict[str, Any]) -> dict[str, Any]:
        self._end = open_end(stack, where, self._hear, near=False)
        return {}

    def _hear(self, payload: bytes) -> None:
        # A message can come in before `open_end` has returned; the near end will ask again.
        if self._end is not None:
            self._end.send(payload[:2])

    def _close(self) -> dict[str, Any]:
        if self._end is not None:
            self._end.close()
            self._end = None
        return {}


if __name__ == "__main__":
    serve(FarRole())

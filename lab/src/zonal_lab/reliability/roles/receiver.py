"""The peer that answers every message: `python -m zonal_lab.reliability.roles.receiver`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zonal_lab.emulation import EndRole, serve
from zonal_lab.reliability.ends import ReliabilityEnd
from zonal_lab.reliability.roles.sender import PROBE

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal_lab.emulation import Answer


class ReceiverRole(EndRole):
    """Counts the numbers it hears."""

    def __init__(self) -> None:
        super().__init__()
        self._answer: Callable[[bytes], None] | None = None
        self._seen = bytearray(PROBE)
        self._copies = 0

    def orders(self) -> dict[str, Answer]:
        """Open, forget what came, count it."""
        return {
            "open": self._open,
            "forget": self._forget,
            "count": self._count,
        }

    def _open(self, stack: str, way: dict[str, Any]) -> dict[str, Any]:
        self._end = ReliabilityEnd(stack, way)
        self._answer = self._end.answer_outlet()
        self._end.hear_data(self._hear)
        return {}

    def _hear(self, payload: bytes) -> None:
        number = int.from_bytes(payload[:2], "big")
        if number != PROBE:
            self._copies += self._seen[number]
            self._seen[number] = 1
        assert self._answer is not None
        self._answer(payload[:2])

    def _forget(self) -> dict[str, Any]:
        self._seen = bytearray(PROBE)
        self._copies = 0
        return {}

    def _count(self) -> dict[str, Any]:
        return {"received": sum(self._seen), "copies": self._copies}


if __name__ == "__main__":
    serve(ReceiverRole())

"""The peer that answers every message: `python -m zonal.lab.burst.roles.receiver`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zonal.lab.burst.peers import Peer
from zonal.lab.burst.roles.sender import PROBE
from zonal.lab.roles.node import read_counters, serve

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.lab.roles.node import Answer


class ReceiverRole:
    """Counts the numbers it hears."""

    def __init__(self) -> None:
        self._peer: Peer | None = None
        self._answer: Callable[[bytes], None] | None = None
        self._seen = bytearray(PROBE)
        self._copies = 0

    def obey(self, order: str, **details: Any) -> dict[str, Any]:
        """Orders: open, forget, count, read, close."""
        answers: dict[str, Answer] = {
            "open": self._open,
            "forget": self._forget,
            "count": self._count,
            "read": read_counters,
            "close": self._close,
        }
        return answers[order](**details)

    def _open(self, stack: str, listen: list[str]) -> dict[str, Any]:
        self._peer = Peer(stack, listen, [])
        self._answer = self._peer.answer_outlet()
        self._peer.hear_data(self._hear)
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

    def _close(self) -> dict[str, Any]:
        if self._peer is not None:
            self._peer.close()
            self._peer = None
        return {}


if __name__ == "__main__":
    serve(ReceiverRole())

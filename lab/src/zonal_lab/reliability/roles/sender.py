"""The peer that sends five megabytes: `python -m zonal_lab.reliability.roles.sender`."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from zonal_lab.emulation import EndRole, serve
from zonal_lab.errors import EmulationError
from zonal_lab.reliability.ends import ReliabilityEnd

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal_lab.emulation import Answer

PROBE = 0xFFFF
_PATIENCE_S = 20.0


class SenderRole(EndRole):
    """Sends, and notes when each answer comes."""

    def __init__(self) -> None:
        super().__init__()
        self._put: Callable[[bytes], None] | None = None
        self._answered: list[int] = []
        self._sent: list[int] = []
        self._probed = threading.Event()

    def orders(self) -> dict[str, Answer]:
        """Open, probe, send, tell the answers."""
        return {
            "open": self._open,
            "probe": self._probe,
            "send": self._send,
            "answers": self._answers,
        }

    def _open(
        self, stack: str, way: dict[str, Any], reliable: bool, block: bool, cache: int
    ) -> dict[str, Any]:
        self._end = ReliabilityEnd(stack, way)
        self._end.hear_answers(self._hear)
        self._put = self._end.data_outlet(reliable=reliable, block=block, cache=cache)
        return {}

    def _probe(self) -> dict[str, Any]:
        assert self._put is not None
        self._probed.clear()
        deadline = time.monotonic() + _PATIENCE_S
        while not self._probed.is_set():
            if time.monotonic() > deadline:
                raise EmulationError(f"no probe came back within {_PATIENCE_S:g} s")
            self._put(PROBE.to_bytes(2, "big"))
            self._probed.wait(0.2)
        return {}

    def _hear(self, payload: bytes) -> None:
        at = time.monotonic_ns()
        number = int.from_bytes(payload[:2], "big")
        if number == PROBE:
            self._probed.set()
        elif number < len(self._answered) and not self._answered[number]:
            self._answered[number] = at

    def _send(self, count: int, size: int, rate_hz: float) -> dict[str, Any]:
        assert self._put is not None
        self._answered, self._sent = [0] * count, [0] * count
        padding = bytes(size - 2)
        begun = time.monotonic_ns()
        for number in range(count):
            if rate_hz:
                wait = begun + number * 1e9 / rate_hz - time.monotonic_ns()
                if wait > 0:
                    time.sleep(wait / 1e9)
            self._sent[number] = time.monotonic_ns()
            self._put(number.to_bytes(2, "big") + padding)
        return {"seconds": (time.monotonic_ns() - begun) / 1e9}

    def _answers(self) -> dict[str, Any]:
        """Round trips in milliseconds of those that were answered."""
        pairs = zip(self._sent, self._answered, strict=True)
        return {"rtt_ms": [round((got - sent) / 1e6, 3) for sent, got in pairs if got]}


if __name__ == "__main__":
    serve(SenderRole())

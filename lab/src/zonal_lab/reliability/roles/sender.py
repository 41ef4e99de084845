"""The peer that sends five megabytes: `python -m zonal_lab.reliability.roles.sender`."""

from __future__ import annotations

import base64
import threading
import time
from array import array
from typing import TYPE_CHECKING, Any

from zonal_lab.emulation import EndRole, serve
from zonal_lab.errors import EmulationError
from zonal_lab.reliability.arrivals import Arrivals
from zonal_lab.reliability.ends import ReliabilityEnd
from zonal_lab.reliability.message import END, HEAD, PROBE

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal_lab.emulation import Answer

_PATIENCE_S = 20.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.2


class SenderRole(EndRole):
    """Sends, and notes when each answer comes."""

    def __init__(self) -> None:
        super().__init__()
        self._put: Callable[[bytes], None] | None = None
        self._arrivals = Arrivals(0)
        self._answered: list[int] = []
        self._sent: list[int] = []
        self._sample = -1
        self._probed, self._ended = threading.Event(), threading.Event()

    def orders(self) -> dict[str, Answer]:
        """Open, probe, send, say that it was all, tell the answers."""
        return {
            "open": self._open,
            "probe": self._probe,
            "send": self._send,
            "finish": self._finish,
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
            self._put(HEAD.pack(PROBE, 0))
            self._probed.wait(0.2)
        return {}

    def _hear(self, payload: bytes) -> None:
        at = time.monotonic_ns()
        number = int.from_bytes(payload[:2], "big")
        if number == PROBE:
            self._probed.set()
        elif number == END:
            if payload == HEAD.pack(END, self._sample):
                self._ended.set()
        elif number < len(self._answered) and self._arrivals.note(number):
            self._answered[number] = at

    def _send(self, sample: int, count: int, size: int, rate_hz: float) -> dict[str, Any]:
        assert self._put is not None
        self._sample, self._arrivals = sample, Arrivals(count)
        self._answered, self._sent = [0] * count, [0] * count
        self._ended.clear()
        rest = HEAD.pack(0, sample)[2:] + bytes(size - HEAD.size)
        begun = time.monotonic_ns()
        for number in range(count):
            if rate_hz:
                wait = begun + number * 1e9 / rate_hz - time.monotonic_ns()
                if wait > 0:
                    time.sleep(wait / 1e9)
            self._sent[number] = time.monotonic_ns()
            self._put(number.to_bytes(2, "big") + rest)
        return {"seconds": (time.monotonic_ns() - begun) / 1e9}

    def _finish(self, longest_s: float) -> dict[str, Any]:
        """Say that it was all, the way the messages went, until the receiver has answered that."""
        assert self._put is not None
        pause, deadline = _FIRST_PAUSE_S, time.monotonic() + longest_s
        while not self._ended.is_set() and time.monotonic() < deadline:
            self._put(HEAD.pack(END, self._sample))
            self._ended.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        return {"heard": self._ended.is_set()}

    def _answers(self, wanted: int, quiet_s: float, longest_s: float) -> dict[str, Any]:
        """Round trips of those that were answered, once so many are or no more come.

        Whole microseconds, four bytes each, in the order of their numbers, as base 64.
        """
        self._arrivals.wait(wanted, quiet_s=quiet_s, longest_s=longest_s)
        pairs = zip(self._sent, self._answered, strict=True)
        trips = array("i", [(got - sent) // 1000 for sent, got in pairs if got])
        return {"rtt_us": base64.b64encode(trips.tobytes()).decode("ascii")}


if __name__ == "__main__":
    serve(SenderRole())

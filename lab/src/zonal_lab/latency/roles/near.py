"""The end that sends and measures: `python -m zonal_lab.latency.roles.near`."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from zonal_lab.emulation import EndRole, serve
from zonal_lab.errors import EmulationError
from zonal_lab.latency.ends import open_end

if TYPE_CHECKING:
    from zonal_lab.emulation import Answer

_PATIENCE_S = 20.0
_PROBE_S = 0.5
_PROBE = 0xFFFF


class NearRole(EndRole):
    """Sends the next message as soon as the echo of the last is there, as Barón 2024 does."""

    def __init__(self) -> None:
        super().__init__()
        self._begin(0, b"")
        self._probed = threading.Event()

    def _begin(self, count: int, padding: bytes) -> None:
        self._sent = [0] * count
        self._got = [0] * count
        self._padding = padding
        self._number = -1
        self._over = threading.Event()

    def orders(self) -> dict[str, Answer]:
        """Open, probe, echo."""
        return {
            "open": self._open,
            "probe": self._probe,
            "echo": self._echo,
        }

    def _open(self, stack: str, where: dict[str, Any]) -> dict[str, Any]:
        self._end = open_end(stack, where, self._hear, near=True)
        return {}

    def _probe(self) -> dict[str, Any]:
        """Send probes until one comes back: then the way there and back stands."""
        assert self._end is not None
        self._probed.clear()
        deadline = time.monotonic() + _PATIENCE_S
        tries = 0
        while not self._probed.is_set():
            if time.monotonic() > deadline:
                raise EmulationError(f"no probe of {tries} came back within {_PATIENCE_S:g} s")
            self._end.send(_PROBE.to_bytes(2, "big"))
            tries += 1
            self._probed.wait(_PROBE_S if tries < 10 else 2.0)
        return {"tries": tries}

    def _hear(self, payload: bytes) -> None:
        at = time.monotonic_ns()
        number = int.from_bytes(payload[:2], "big")
        if number == _PROBE:
            self._probed.set()
        elif number == self._number and not self._got[number]:
            self._got[number] = at
            self._send_next()

    def _send_next(self) -> None:
        assert self._end is not None
        number = self._number + 1
        if number == len(self._sent):
            self._over.set()
            return
        self._number = number
        payload = number.to_bytes(2, "big") + self._padding
        self._sent[number] = time.monotonic_ns()
        self._end.send(payload)

    def _echo(self, count: int, size: int, lost_after_s: float) -> dict[str, Any]:
        """Echo so many messages; one that is not back in time is lost, and the next is sent."""
        self._begin(count, bytes(max(size - 2, 0)))
        self._send_next()
        while not self._over.wait(0.02):
            number = self._number
            if time.monotonic_ns() - self._sent[number] > lost_after_s * 1e9:
                self._send_next()
        pairs = zip(self._sent, self._got, strict=True)
        return {"rtt_ns": [got - sent if got else None for sent, got in pairs]}


if __name__ == "__main__":
    serve(NearRole())

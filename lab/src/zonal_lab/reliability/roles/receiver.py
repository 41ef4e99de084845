"""The peer that answers every message: `python -m zonal_lab.reliability.roles.receiver`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zonal_lab.emulation import EndRole, serve
from zonal_lab.reliability.arrivals import Arrivals
from zonal_lab.reliability.ends import ReliabilityEnd
from zonal_lab.reliability.message import END, HEAD

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal_lab.emulation import Answer


class ReceiverRole(EndRole):
    """Counts the numbers it hears of one sample, and answers them."""

    def __init__(self) -> None:
        super().__init__()
        self._answer: Callable[[bytes], None] | None = None
        self._arrivals = Arrivals(0)
        self._sample: int | None = None
        self._late = 0

    def orders(self) -> dict[str, Answer]:
        """Open, expect a sample, wait until it has come in, tell what came too late."""
        return {
            "open": self._open,
            "expect": self._expect,
            "settle": self._settle,
            "late": self._told_late,
        }

    def _open(self, stack: str, way: dict[str, Any]) -> dict[str, Any]:
        self._sample, self._late = None, 0
        self._end = ReliabilityEnd(stack, way)
        self._answer = self._end.answer_outlet()
        self._end.hear_data(self._hear)
        return {}

    def _hear(self, payload: bytes) -> None:
        assert self._answer is not None
        number, sample = HEAD.unpack_from(payload)
        if number >= END:
            self._answer(payload[: HEAD.size])
            return
        if sample == self._sample:
            self._arrivals.note(number)
        else:
            self._late += 1
        self._answer(payload[:2])

    def _expect(self, sample: int, count: int) -> dict[str, Any]:
        """Count so many messages of this sample from now on."""
        self._arrivals, self._sample = Arrivals(count), sample
        return {}

    def _settle(self, wanted: int, quiet_s: float, longest_s: float) -> dict[str, Any]:
        """What has come of the sample once all has, or nothing more does; the rest comes late."""
        mine = self._arrivals
        mine.wait(wanted, quiet_s=quiet_s, longest_s=longest_s)
        self._sample = None
        return {"received": mine.distinct, "copies": mine.copies}

    def _told_late(self) -> dict[str, Any]:
        """How many messages came when their sample had been counted."""
        return {"late": self._late}


if __name__ == "__main__":
    serve(ReceiverRole())

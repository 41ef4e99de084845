"""A subscriber in a node, keeping all times: `python -m zonal_lab.location.roles.subscriber`."""

from __future__ import annotations

import contextlib
import threading
import time
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zenoh

from zonal_lab.emulation import Card, EndRole, Node, serve
from zonal_lab.location.message import PROBE, READY_KEY, unpack_message
from zonal_lab.location.techniques import Surroundings, technique
from zonal_lab.systems import node_config

if TYPE_CHECKING:
    from zonal_lab.emulation import Answer
    from zonal_lab.location.techniques import Inlet, Place, Wanted


class SubscriberRole(EndRole):
    """Receives with one technique in a thread of its own; the main thread answers the lab."""

    def __init__(self) -> None:
        super().__init__()
        self._inlet: Inlet | None = None
        self._reader: threading.Thread | None = None
        self._forget()

    def _forget(self) -> None:
        # publisher, number, sent, received: four whole numbers a wanted message
        self._kept = array("q")
        self._unwanted = self._late_probes = 0
        self._probed: set[int] = set()
        self._ready: set[int] = set()
        self._base = 0
        self._set_out_ns: int | None = None

    def orders(self) -> dict[str, Answer]:
        """Open, tell who was heard, count from a mark on, and keep what came."""
        return {
            "open": self._open,
            "set_out": self._set_out,
            "heard": self._heard,
            "mark": self._mark,
            "count": self._count,
            "keep": self._keep,
        }

    def _heard(self) -> dict[str, Any]:
        return {"probed": sorted(self._probed), "ready": sorted(self._ready)}

    def _open(
        self, name: str, connect: str, area: list[float] | None, circle: dict[str, Any]
    ) -> dict[str, Any]:
        self._forget()
        how, wanted, whereabouts = technique(name), self._wanted(area, circle), None
        if isinstance(wanted, Surroundings) and wanted.moves:
            whereabouts = wanted.place
        self._end = how.open(node_config("client", connect=[connect]), whereabouts)
        self._inlet = how.inlet(self._end, wanted)
        # Declared after the measured subscription: who hears this has passed that one on, too.
        how.plain(self._end).declare_subscriber(READY_KEY, self._hear_ready)
        self._reader = threading.Thread(target=self._read, args=(self._inlet,), daemon=True)
        self._reader.start()
        return {}

    def _wanted(self, area: list[float] | None, circle: dict[str, Any]) -> Wanted:
        if area is not None:
            return area[0], area[1], area[2], area[3]
        me = Node(1, "subscriber", Card(), **circle)

        def place() -> Place:
            begun = self._set_out_ns
            return me.where(0.0 if begun is None else (time.monotonic_ns() - begun) / 1e9)

        return Surroundings(place, me.radius_m, me.moves)

    def _set_out(self, start_ns: int) -> dict[str, Any]:
        """From then on it moves, if it does."""
        self._set_out_ns = start_ns
        return {}

    def _hear_ready(self, sample: zenoh.Sample) -> None:
        self._ready.add(unpack_message(sample.payload.to_bytes()).publisher)

    def _read(self, inlet: Inlet) -> None:
        clock = time.monotonic_ns
        # Iterating a closed channel ends with an error of Zenoh's; the run is over then.
        with contextlib.suppress(zenoh.ZError):
            for payload, wanted in inlet:
                received_ns = clock()
                if not wanted:
                    self._unwanted += 1
                    continue
                message = unpack_message(payload)
                if message.kind == PROBE:
                    self._probed.add(message.publisher)
                    self._late_probes += 1
                else:
                    self._kept.extend(
                        (message.publisher, message.number, message.sent_ns, received_ns)
                    )

    def _mark(self) -> dict[str, Any]:
        """Count from here on."""
        assert self._inlet is not None
        self._base = self._inlet.received()
        self._unwanted = self._late_probes = 0
        return {}

    def _count(self) -> dict[str, Any]:
        assert self._inlet is not None
        return {
            "kept": len(self._kept) // 4,
            "received": self._inlet.received() - self._base - self._late_probes,
            "unwanted": self._unwanted,
        }

    def _keep(self, path: str) -> dict[str, Any]:
        with Path(path).open("wb") as file:
            self._kept.tofile(file)
        return self._count()

    def close(self) -> dict[str, Any]:
        """Close the session, and wait for the reading thread."""
        answer = super().close()
        if self._reader is not None:
            self._reader.join(5)
            self._reader = None
        return answer


if __name__ == "__main__":
    serve(SubscriberRole())

"""A node's relayed card as data: the two devices, and what each direction does to frames."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zonal_lab.emulation.lane import Gate, Lane, OpenGate, RateGate, TraceGate
from zonal_lab.emulation.trace import read_trace


@dataclass(frozen=True)
class Direction:
    """What one direction of a port does to frames; a trace is a path to a Mahimahi file."""

    delay_ms: float = 0.0
    loss: float = 0.0
    rate_mbit: float | None = None
    trace: str | None = None
    queue_frames: int | None = None
    seed: int = 0

    def lane(self) -> Lane:
        """The lane that does it."""
        return Lane(
            self._gate(),
            delay_ms=self.delay_ms,
            loss=self.loss,
            queue_frames=self.queue_frames,
            seed=self.seed,
        )

    def _gate(self) -> Gate:
        if self.trace is not None:
            return TraceGate(read_trace(Path(self.trace)))
        return OpenGate() if self.rate_mbit is None else RateGate(self.rate_mbit)


@dataclass(frozen=True)
class Port:
    """A node's card and the switch's side of it: namespaces by path, devices by name."""

    node: str
    node_namespace: str
    node_device: str
    switch_namespace: str
    switch_device: str
    outward: Direction
    inward: Direction

    def to_json(self) -> dict[str, Any]:
        """The port as the relay process reads it."""
        return asdict(self)


def port_from_json(entry: dict[str, Any]) -> Port:
    """Read a port as `Port.to_json` wrote it."""
    ways = {way: Direction(**entry[way]) for way in ("outward", "inward")}
    return Port(**{**entry, **ways})

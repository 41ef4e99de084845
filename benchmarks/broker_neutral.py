"""A neutral load in C for MQTT brokers: one message a write, 64 bytes, publishers in turn.

`mqtt_load.c` is compiled when it is needed. Brokers take turns within each round, so what else the
machine does meets all of them; CPU time of a broker is of its process, system calls included.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

SOURCE = Path(__file__).parent / "mqtt_load.c"


class Shape(NamedTuple):
    """One row: its name, what the load is told, and the versions it is measured in."""

    name: str
    options: str
    versions: tuple[int, ...] = (5, 4)


SHAPES = (
    Shape("1 → 100, QoS 0", "subscribers=100 window=100"),
    Shape("1 → 100, QoS 1", "subscribers=100 qos=1 window=100"),
    Shape("1 → 1, QoS 0", "window=1000"),
    Shape("1 → 1, QoS 1", "qos=1 window=200"),
    Shape("100 → 1, QoS 0", "publishers=100 window=1000"),
    Shape("100 → 1, QoS 1", "publishers=100 qos=1 window=500"),
    Shape("1 → 1, QoS 0, one under way", "window=1"),
    Shape("1 → 1, QoS 0, one place", "located=1 window=1000", (5,)),
    Shape("1 → 1, QoS 0, 10,000 places", "located=1 places=10000 window=1000", (5,)),
    Shape("1 → 1, QoS 1, one place", "located=1 qos=1 window=200", (5,)),
)
FENCES = (
    Shape("1,000 fences", "fences=1 subscribers=1000 located=1 places=10000 window=200", (5,)),
    Shape("10,000 fences", "fences=1 subscribers=10000 located=1 places=10000 window=200", (5,)),
)
FEW_FENCES = (Shape("20 fences", "fences=1 subscribers=20 located=1 places=100 window=20", (5,)),)


class Seen(NamedTuple):
    """What one run showed: processor time is the broker's, for a publication or a subscription."""

    per_s: float
    cpu_us: float
    subscribe_us: float
    subscribe_cpu_us: float


def compiled(folder: str) -> Path:
    """The load generator, from its source."""
    program = Path(folder) / "mqtt_load"
    subprocess.run(["cc", "-O2", "-o", str(program), str(SOURCE)], check=True)
    return program


def run(program: Path, broker: Any, shape: Shape, version: int, seconds: float) -> Seen:
    """Loads a broker."""
    told = f"{shape.options} port={broker.port} pid={broker.pid} version={version}"
    done = subprocess.run(
        [str(program), *f"{told} seconds={seconds} {broker.protocol}".split()],
        check=True, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    found = json.loads(done.stdout)
    return Seen(**{name: found[name] for name in Seen._fields})


def measure(
    brokers: dict[str, Callable[[], AbstractContextManager[Any]]], shapes: tuple[Shape, ...],
    seconds: float, rounds: int, say: Callable[[str], None],
) -> list[dict[str, Any]]:  # fmt: skip
    """Medians of the rounds, a row for each shape and version."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(folder)
        for shape in shapes:
            for version in shape.versions:
                seen: dict[str, list[Seen]] = {name: [] for name in brokers}
                for _ in range(rounds):
                    for name, start in brokers.items():
                        with start() as running:
                            seen[name].append(run(program, running, shape, version, seconds))
                row: dict[str, Any] = {"case": shape.name, "version": version}
                for name, runs in seen.items():
                    row[name] = round(statistics.median(one.per_s for one in runs))
                    row[f"{name} cpu"] = round(statistics.median(one.cpu_us for one in runs), 2)
                    for what in ("subscribe_us", "subscribe_cpu_us"):
                        middle = statistics.median(getattr(one, what) for one in runs)
                        row[f"{name} {what}"] = round(middle, 1)
                rows.append(row)
                rates = ", ".join(
                    f"{name} {row[name]:,}/s ({row[f'{name} cpu']} µs)" for name in seen
                )
                say(f"{shape.name}, version {version}: {rates}")
    return rows

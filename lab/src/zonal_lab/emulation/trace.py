"""Cellular packet-delivery traces in Mahimahi's format, and a made-up one where none is given.

One line per delivery opportunity, in milliseconds since the start; each carries 1500 bytes; the
last time stamp is the period after which the trace starts again (Netravali et al., ATC 2015).
Mahimahi knows whole milliseconds only; traces of our own may have decimals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal_lab.errors import TraceError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

OPPORTUNITY_BYTES = 1500


@dataclass(frozen=True)
class Trace:
    """Delivery opportunities of one link, in milliseconds, ascending; repeats after `period_ms`."""

    name: str
    opportunities_ms: NDArray[np.int64] | NDArray[np.float64]

    def __post_init__(self) -> None:
        times = self.opportunities_ms
        if len(times) == 0:
            raise TraceError(
                f"trace {self.name} has no delivery opportunity; it needs at least one"
            )
        if int(times[0]) < 0 or bool((times[1:] < times[:-1]).any()):
            raise TraceError(f"trace {self.name} must hold ascending milliseconds, 0 or later")
        if int(times[-1]) == 0:
            raise TraceError(f"trace {self.name} must last at least 1 ms, its last line says 0")

    @property
    def period_ms(self) -> int:
        """The time after which the trace starts again."""
        return int(self.opportunities_ms[-1])

    @property
    def mean_mbit(self) -> float:
        """The rate that the trace carries over its whole period, in Mbit/s."""
        return len(self.opportunities_ms) * OPPORTUNITY_BYTES * 8 / self.period_ms / 1000


def read_trace(path: Path) -> Trace:
    """Read a Mahimahi trace file."""
    import numpy as np  # here and below: a relay without a trace does not need it

    try:
        lines = path.read_text(encoding="ascii").split()
        kind = float if any("." in line for line in lines) else int
        return Trace(path.name, np.array([kind(line) for line in lines]))
    except OSError as error:
        raise TraceError(f"trace {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(
            f"trace {path} must hold one number of milliseconds a line: {error}"
        ) from error


def write_trace(trace: Trace, path: Path) -> None:
    """Write a trace in Mahimahi's format."""
    times = trace.opportunities_ms
    pattern = "%d" if times.dtype.kind == "i" else "%.3f"
    path.write_text("".join(f"{pattern}\n" % time for time in times.tolist()), encoding="ascii")


def made_up_lte(seed: int = 1, seconds: int = 180) -> Trace:
    """A trace that resembles TMobile-LTE-driving.down: 12 Mbit/s on average, bursts, outages.

    Rate per 100 ms follows a random walk in its logarithm, and about every twenty seconds the link
    is gone for 0.2 to 1 s; both were read off the real trace.
    """
    import numpy as np

    random = np.random.default_rng(seed)
    log_rate = np.log(0.9)
    times: list[int] = []
    outage_until = 0
    for start in range(0, seconds * 1000, 100):
        log_rate += 0.25 * random.normal() - 0.1 * (log_rate - np.log(0.9))
        if random.random() < 0.005:
            outage_until = start + int(random.uniform(200, 1000))
        if start >= outage_until:
            count = random.poisson(100 * float(np.exp(log_rate)))
            times.extend(sorted((start + random.integers(0, 100, size=count)).tolist()))
    return Trace("made-up-lte", np.array([*times, seconds * 1000], dtype=np.int64))


def trace_file(name: str, folder: Path | None, scratch: Path) -> Path:
    """The file of a recorded trace in a folder; without a folder a made-up LTE link, in `scratch`.

    A folder that lacks the trace is a `TraceError`: nothing is made up where something was asked.
    """
    if folder is None:
        made_up = scratch / "made-up-lte.trace"
        write_trace(made_up_lte(), made_up)
        return made_up
    if not (folder / name).is_file():
        raise TraceError(f"{folder} has no trace {name}")
    return folder / name


def describe_trace(name: str, folder: Path | None) -> str:
    """What `trace_file` gives, for people: the recorded trace, or that it is made up."""
    if folder is None:
        trace = made_up_lte()
        return (
            f"made up in place of {name} ({trace.mean_mbit:.1f} Mbit/s on average); "
            "--traces names a folder of recorded ones"
        )
    trace = read_trace(folder / name)
    seconds = trace.period_ms / 1000
    return f"{name}, recorded, {trace.mean_mbit:.1f} Mbit/s on average over {seconds:g} s"

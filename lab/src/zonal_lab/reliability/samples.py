"""The raw samples of a case, and its figures: losses, and the spread of round trips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zonal_lab.reliability.plan import ReliabilityCase

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from zonal_lab.experiment import Results
    from zonal_lab.reliability.hosts import Sample

    Figures = dict[ReliabilityCase, "ReliabilityFigures"]

ROUND_TRIPS = "round_trips"
"""The kind of the raw samples in the results."""
_KEPT_A_SAMPLE, _KEPT_A_CASE = 2000, 20_000


@dataclass(frozen=True)
class Spread:
    """Round trips in milliseconds: percentiles, and the longest."""

    p0_5: float
    p25: float
    median: float
    p75: float
    p99_5: float
    longest: float


@dataclass(frozen=True)
class ReliabilityFigures:
    """All samples of one case: the share that each lost, copies, and the spread of all answers.

    `medians_ms` are those of the samples' own round trips, without samples that nothing came back
    from. `late` messages came when their sample had been counted; None where nobody looked.
    """

    lost: list[float]
    copies: int
    seconds: list[float]
    round_trips: Spread | None
    medians_ms: list[float]
    late: int | None = None


def kept_trips(samples: int) -> int:
    """How many round trips of each of so many samples are kept: of a hundred, 200 each.

    They are evenly spaced in the order of the messages; all samples of a case stay below 20,000,
    so that the data of a long run can be committed.
    """
    return min(_KEPT_A_SAMPLE, max(_KEPT_A_CASE // samples, 1))


def round_trip_table(samples: list[Sample]) -> pa.Table:
    """The number of a sample and a round trip (µs), one row an answered message that is kept."""
    most = kept_trips(len(samples))
    trips = [_thinned(each.round_trips_us, most) for each in samples]
    counts = [len(each) for each in trips]
    return pa.table(
        {
            "sample": pa.array(np.repeat(np.arange(len(samples), dtype=np.int16), counts)),
            "rtt_us": pa.array(np.concatenate(trips)),
        }
    )


def _thinned(trips: NDArray[np.int32], most: int) -> NDArray[np.int32]:
    if len(trips) <= most:
        return trips
    chosen: NDArray[np.int32] = trips[np.linspace(0, len(trips) - 1, most).astype(np.int64)]
    return chosen


def read_figures(results: Results) -> Figures:
    """The figures of all finished cases."""
    figures = {}
    for record in results.records():
        path = results.folder / ROUND_TRIPS / f"{record.name}.parquet"
        spread, medians = _round_trips(path)
        figures[ReliabilityCase(**record.case)] = ReliabilityFigures(
            **record.figures, round_trips=spread, medians_ms=medians
        )
    return figures


def _round_trips(path: Path) -> tuple[Spread | None, list[float]]:
    if not path.exists():  # nothing came back in any sample, so nothing was packed
        return None, []
    table = pq.read_table(path)
    trips, samples = table["rtt_us"].to_numpy() / 1000, table["sample"].to_numpy()
    if not len(trips):
        return None, []
    medians = [float(np.median(trips[samples == each])) for each in np.unique(samples)]
    shares = (0.5, 25, 50, 75, 99.5, 100)
    return Spread(*(float(each) for each in np.percentile(trips, shares))), medians

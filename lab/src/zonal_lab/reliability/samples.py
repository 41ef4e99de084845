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

    from zonal_lab.experiment import Results
    from zonal_lab.reliability.hosts import Sample

    Figures = dict[ReliabilityCase, "ReliabilityFigures"]

ROUND_TRIPS = "round_trips"
"""The kind of the raw samples in the results."""


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
    """All samples of one case: the share that each lost, copies, and the spread of all answers."""

    lost: list[float]
    copies: int
    seconds: list[float]
    round_trips: Spread | None


def round_trip_table(samples: list[Sample]) -> pa.Table:
    """One row an answered message: the number of its sample, and its round trip."""
    counts = [len(each.round_trips_ms) for each in samples]
    trips = np.concatenate([np.array(each.round_trips_ms, np.float32) for each in samples])
    return pa.table(
        {
            "sample": pa.array(np.repeat(np.arange(len(samples), dtype=np.int16), counts)),
            "rtt_ms": pa.array(trips),
        }
    )


def read_figures(results: Results) -> Figures:
    """The figures of all finished cases."""
    return {
        ReliabilityCase(**record.case): ReliabilityFigures(
            **record.figures,
            round_trips=_spread(results.folder / ROUND_TRIPS / f"{record.name}.parquet"),
        )
        for record in results.records()
    }


def _spread(path: Path) -> Spread | None:
    trips = pq.read_table(path)["rtt_ms"].to_numpy()
    if not len(trips):
        return None
    shares = (0.5, 25, 50, 75, 99.5, 100)
    return Spread(*(float(each) for each in np.percentile(trips, shares)))

"""Journeys for clients: traces of the workload job, or made-up walks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zonal_lab.errors import PlanError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_MOST_STEPS = 20_000
SEED = 7
"""Of the made-up walks."""
_CENTRE = (39.9, 116.4)


@dataclass(frozen=True)
class Journey:
    """Places and when they are reached, in seconds since the start; then it begins again."""

    name: str
    at_s: NDArray[np.float64]
    lats: NDArray[np.float64]
    lons: NDArray[np.float64]
    teleports: bool = False
    """Whether its client goes as fast as it can, whatever the times are."""

    def arrival(self, step: int) -> tuple[float, float, float]:
        """When the traveller reaches its n-th place, and where that is."""
        rounds, within = divmod(step, len(self.at_s))
        lat, lon = float(self.lats[within]), float(self.lons[within])
        if self.teleports:
            return 0.0, lat, lon
        # At its last place a client jumps back to the first one at once (section 5.1); a client
        # that stood still for ever in no time would never end a round.
        period = max(float(self.at_s[-1]), 1.0)
        return rounds * period + float(self.at_s[within]), lat, lon

    def arrivals_within(self, seconds: float) -> int:
        """How many places it reaches from its start until then; none where its times say nothing.

        `arrival` gives the time of each.
        """
        if self.teleports or seconds < 0:
            return 0
        period = max(float(self.at_s[-1]), 1.0)
        rounds = int(seconds // period)
        rest = np.searchsorted(rounds * period + self.at_s, seconds, side="right")
        return rounds * len(self.at_s) + int(rest)

    def begun_later(self, cut: int) -> Journey:
        """The same way, begun at another of its places."""
        period = max(float(self.at_s[-1]), 1.0)
        order = np.roll(np.arange(len(self.at_s)), -cut)
        return replace(
            self,
            name=f"{self.name}+{cut}",
            at_s=(self.at_s[order] - self.at_s[cut]) % period,
            lats=self.lats[order],
            lons=self.lons[order],
        )

    def hurried(self, speed: float) -> Journey:
        """The same way, so many times as fast."""
        return replace(self, at_s=self.at_s / speed)

    def teleporting(self) -> Journey:
        """The same places for a client that goes as fast as it can (TeleportingClient)."""
        return replace(self, teleports=True)


def run_workload_job(geolife: Path, clients: int) -> pa.Table:
    """The trace of travelling clients by the workload job, on Spark."""
    from zonal.pipeline.jobs import open_spark
    from zonal_lab.jobs import assign
    from zonal_lab.jobs import geolife as trajectories

    spark = open_spark("local[2]", app="zonal-lab", conf={"spark.sql.shuffle.partitions": "4"})
    trace = assign(trajectories(spark, geolife), clients).where(f"step < {_MOST_STEPS}")
    return trace.toArrow()


def journeys_for(count: int, trace: pa.Table | None, *, seed: int = SEED) -> list[Journey]:
    """So many journeys, always the same; where trajectories run out, they are begun elsewhere."""
    found = made_up_walks(count, seed=seed) if trace is None else from_trace(trace)[:count]
    known = len(found)
    for number in range(known, count):
        first = found[number % known]
        found.append(first.begun_later(len(first.at_s) * (number // known) // (count // known + 1)))
    return found


def from_trace(trace: pa.Table) -> list[Journey]:
    """The journeys of a trace (the workload job's columns), by client."""
    missing = {"client", "trajectory", "step", "at_s", "latitude", "longitude"} - set(
        trace.column_names
    )
    if missing or trace.num_rows == 0:
        raise PlanError(f"no trace of the workload job: {sorted(missing) or 'no rows'} missing")
    trace = trace.sort_by([("client", "ascending"), ("step", "ascending")])
    clients = trace["client"].to_numpy()
    ends = [*np.flatnonzero(np.diff(clients)) + 1, len(clients)]
    names = trace["trajectory"].to_pylist()
    at_s = pc.fill_null(trace["at_s"], 0.0).to_numpy()
    teleports = trace["at_s"].null_count > 0
    lats, lons = trace["latitude"].to_numpy(), trace["longitude"].to_numpy()
    return [
        Journey(names[a], at_s[a:b], lats[a:b], lons[a:b], teleports)
        for a, b in zip([0, *ends[:-1]], ends, strict=True)
    ]


def made_up_walks(count: int, *, steps: int = 600, seed: int = SEED) -> list[Journey]:
    """Walks and rides in Beijing with Geolife's rhythm: a place every one to five seconds."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        at = np.concatenate(([0.0], np.cumsum(random.integers(1, 6, steps - 1))))
        speed = random.uniform(1.0, 12.0) * 9e-6
        heading = np.cumsum(random.normal(0, 0.2, steps)) + random.uniform(0, 2 * np.pi)
        moved = speed * np.diff(at, prepend=0.0)
        lats = _CENTRE[0] + random.normal(0, 0.05) + np.cumsum(moved * np.cos(heading))
        lons = _CENTRE[1] + random.normal(0, 0.06) + np.cumsum(moved * np.sin(heading))
        found.append(Journey(f"walk/{number:05}", at, lats, lons))
    return found

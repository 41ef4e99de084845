"""Medians, quartiles and losses of echoes, beside the medians of Barón 2024."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from zonal_lab.latency.samples import round_trips_ms
from zonal_lab.latency.scenarios import SCENARIOS
from zonal_lab.latency.stacks import STACKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

# Table 5.2: medians in milliseconds.
THEIRS: dict[tuple[str, str], float] = {
    (scenario, stack): value
    for scenario, values in {
        "alpha": (6.807, 7.027, 7.582, 8.469, 119.73),
        "beta": (4.680, 4.604, 4.782, 5.159, 109.66),
        "beta-delay": (408.997, 409.082, 409.659, 802.57, 2099.0),
        "gamma": (5.539, 5.613, 9.804, 99.002, 118.39),
        "delta": (3.907, 3.899),
    }.items()
    for stack, value in zip(
        ("zenoh-best-effort", "zenoh-reliable", "mqtt-0", "mqtt-1", "mqtt-2"), values, strict=False
    )
}


@dataclass(frozen=True)
class RoundTrips:
    """The round trips of one stack in one scenario, in milliseconds."""

    scenario: str
    stack: str
    count: int
    lost: int
    mean: float
    median: float
    median_range: tuple[float, float]
    quartiles: tuple[float, float]
    range99: tuple[float, float]
    near_bytes: float
    round_trips: NDArray[np.float64]


class LatencySummary:
    """All figures of one evaluation."""

    def __init__(self, echoes: pa.Table) -> None:
        self._figures = {(row.scenario, row.stack): row for row in _figures(echoes)}

    def get(self, scenario: str, stack: str) -> RoundTrips | None:
        """The figures of a case, if it was run."""
        return self._figures.get((scenario, stack))

    def scenarios(self) -> list[str]:
        """The scenarios that were run, in the order of Barón 2024."""
        return [name for name in SCENARIOS if any(key[0] == name for key in self._figures)]

    def stacks(self, scenario: str) -> list[RoundTrips]:
        """The stacks that were run in a scenario."""
        return [row for name in STACKS if (row := self.get(scenario, name)) is not None]

    def median(self, scenario: str, stack: str) -> float:
        """A median; a `LookupError` when the case was not run."""
        found = self.get(scenario, stack)
        if found is None:
            raise LookupError(f"{scenario} {stack}")
        return found.median


def _figures(echoes: pa.Table) -> Iterator[RoundTrips]:
    for scenario in SCENARIOS:
        for stack in STACKS:
            times, lost = round_trips_ms(echoes, scenario, stack)
            if len(times) == 0:
                continue
            low, first, middle, third, high = np.percentile(times, (0.5, 25, 50, 75, 99.5))
            yield RoundTrips(
                scenario=scenario,
                stack=stack,
                count=len(times),
                lost=lost,
                mean=float(times.mean()),
                median=float(middle),
                median_range=median_range(times),
                quartiles=(float(first), float(third)),
                range99=(float(low), float(high)),
                near_bytes=_bytes_per_echo(echoes, scenario, stack),
                round_trips=times,
            )


def median_range(times: NDArray[np.float64]) -> tuple[float, float]:
    """Where the median lies with 95 % confidence, by order statistics: no distribution assumed."""
    ordered, half = np.sort(times), 0.98 * np.sqrt(len(times))
    low = max(int(np.floor(len(times) / 2 - half)), 0)
    high = min(int(np.ceil(len(times) / 2 + half)), len(times) - 1)
    return float(ordered[low]), float(ordered[high])


def _bytes_per_echo(echoes: pa.Table, scenario: str, stack: str) -> float:
    """What the near end's card carried for one echo, both ways, with all headers."""
    wanted = (echoes["scenario"].to_numpy() == scenario) & (echoes["stack"].to_numpy() == stack)
    rows = echoes.filter(wanted)
    first = rows.filter(rows["number"].to_numpy() == 0)
    return float(first["near_bytes"].to_numpy().sum()) / max(len(rows), 1)

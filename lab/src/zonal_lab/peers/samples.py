"""The figures of a run, read back: by work, system and round."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from zonal_lab.peers.mqtt_work import SHAPES
from zonal_lab.peers.plan import WORKS
from zonal_lab.peers.rest_work import REQUESTS
from zonal_lab.peers.trial import MISSING

if TYPE_CHECKING:
    from zonal_lab.experiment import Results

OURS = "zonal"
_SURELY = 0.8


@dataclass(frozen=True)
class Metric:
    """One figure of a work.

    Attributes:
        work: of which.
        keys: where it stands among the figures of a case.
        title: what it is.
        unit: in which it is written.
        more: whether more is better.
    """

    work: str
    keys: tuple[str, ...]
    title: str
    unit: str
    more: bool = False

    def of(self, figures: dict[str, Any]) -> float | None:
        """Its value in a case; None where it was not measured."""
        found: Any = figures
        for key in self.keys:
            found = found.get(key) if found else None
        return None if found is None else float(found)

    def written(self, value: float) -> str:
        """A value with its unit."""
        digits = 0 if value >= 100 else 1 if value >= 10 else 2
        return f"{value:,.{digits}f} {self.unit}"


def _answers(name: str, title: str) -> list[Metric]:
    return [
        Metric("things", (f"{name}_p50_us",), f"{title}, p50", "µs"),
        Metric("things", (f"{name}_p99_us",), f"{title}, p99", "µs"),
        Metric("things", (f"{name}_cpu_us",), f"{title}, server's CPU", "µs"),
    ]


def _requests(name: str) -> list[Metric]:
    return [
        Metric("rest", (name, "per_s"), name, "/s", more=True),
        Metric("rest", (name, "p50_us"), f"{name}, p50", "µs"),
        Metric("rest", (name, "p99_us"), f"{name}, p99", "µs"),
        Metric("rest", (name, "cpu_us"), f"{name}, server's CPU", "µs"),
    ]


METRICS: tuple[Metric, ...] = (
    Metric("things", ("add_per_s",), "new things", "/s", more=True),
    Metric("things", ("add_cpu_us",), "a new thing, server's CPU", "µs"),
    Metric("things", ("move_per_s",), "moves", "/s", more=True),
    Metric("things", ("move_cpu_us",), "a move, server's CPU", "µs"),
    Metric("things", ("bytes_a_thing",), "memory a thing", "B"),
    *_answers("circle", "all in a circle"),
    *_answers("nearest", "the nearest ten"),
    Metric("fences", ("step_cpu_us",), "a step, CPU", "µs"),
    Metric("fences", ("fence_cpu_us",), "a new fence, CPU", "µs"),
    Metric("index", ("seconds",), "the workload, CPU", "s"),
    Metric("use-case", ("arrivals_per_s",), "arrivals", "/s", more=True),
    Metric("use-case", ("arrival_cpu_us",), "an arrival, server's CPU", "µs"),
    Metric("use-case", ("p50_us",), "a publication's answer, p50", "µs"),
    Metric("use-case", ("p99_us",), "a publication's answer, p99", "µs"),
    Metric("use-case", ("deliveries_per_s",), "deliveries", "/s", more=True),
    *(Metric("mqtt", (name, "per_s"), f"{name}, deliveries", "/s", more=True) for name in SHAPES),
    *(Metric("mqtt", (name, "cpu_us"), f"{name}, CPU a delivery", "µs") for name in SHAPES),
    Metric("mqtt", ("steady", "p50_us"), "steady rate, p50", "µs"),
    Metric("mqtt", ("steady", "p99_us"), "steady rate, p99", "µs"),
    Metric("mqtt", ("steady", "cpu_us"), "steady rate, CPU a message", "µs"),
    Metric("mqtt", ("idle", "bytes_a_connection"), "memory an idle connection", "B"),
    *(each for name in REQUESTS for each in _requests(name)),
    Metric("joins", ("seconds",), "the join, by the clock", "s"),
    Metric("joins", ("cpu_s",), "the join, CPU", "s"),
)


class Compared:
    """Figures of all cases; systems of a work are compared round by round."""

    def __init__(self, results: Results) -> None:
        self._figures: dict[tuple[str, str], dict[int, dict[str, Any]]] = defaultdict(dict)
        self.missing: dict[str, str] = {}
        for record in results.records():
            case = record.case
            if MISSING in record.figures:
                self.missing[case["system"]] = record.figures[MISSING]
            else:
                self._figures[case["work"], case["system"]][case["round"]] = record.figures

    def systems(self, work: str) -> list[str]:
        """Those that did a work, ours first."""
        return [each for each in WORKS[work] if self._figures[work, each]]

    def values(self, metric: Metric, system: str) -> dict[int, float]:
        """A figure by round."""
        found = {n: metric.of(each) for n, each in self._figures[metric.work, system].items()}
        return {number: value for number, value in found.items() if value is not None}

    def middle(self, metric: Metric, system: str) -> float | None:
        """The median of the rounds."""
        found = self.values(metric, system)
        return median(found.values()) if found else None

    def ratios(self, metric: Metric, system: str) -> list[float]:
        """A system's figure over ours, in each round that has both."""
        ours, theirs = self.values(metric, OURS), self.values(metric, system)
        return [theirs[each] / ours[each] for each in sorted(ours.keys() & theirs) if ours[each]]

    def surely_better(self, metric: Metric, system: str) -> bool:
        """Whether a system's figure is better than ours in at least four rounds of five."""
        found = self.ratios(metric, system)
        better = sum(each > 1 if metric.more else each < 1 for each in found)
        return bool(found) and better >= _SURELY * len(found)

    def surely_worse(self, metric: Metric, system: str) -> bool:
        """Whether it is worse as often."""
        found = self.ratios(metric, system)
        worse = sum(each < 1 if metric.more else each > 1 for each in found)
        return bool(found) and worse >= _SURELY * len(found)

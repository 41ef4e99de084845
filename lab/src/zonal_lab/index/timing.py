"""GeoBroker's workload of 35,000 adds, 25,000 updates and 50,000 gets, timed (section 3.3)."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from zonal.index import Raster, SubscriptionIndex
from zonal_lab.experiment import OURS, Claim, Unit
from zonal_lab.index.alternatives import BTreeFences, RTreeFences
from zonal_lab.index.workload import TOPIC, geobroker_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from zonal_lab.experiment import Draw
    from zonal_lab.index.workload import Trajectory, Workload

Times = dict[str, float]
WORK = "GeoBroker 2020"
THEIRS_S = {"raster": 1.6, "R-tree": 72.0, "B-tree": 232.0}
_ARTICLE = {"R-tree": "an R-tree", "B-tree": "a B-tree"}


def time_workload(trajectories: list[Trajectory], scale: float) -> Times:
    """Seconds of processor time: the raster's subscriptions and rows, and the trees' rows."""
    workload = geobroker_workload(trajectories, scale=scale)
    found = {}
    kinds = {"raster": Raster, "R-tree": RTreeFences, "B-tree": BTreeFences}
    for name, fences in kinds.items():
        index: SubscriptionIndex[int] = SubscriptionIndex(fences=fences)
        changes_s = _changes_s(index, workload)
        found[f"{name}, rows"] = changes_s + _gets_s(index.match_rows, workload)
        if name == "raster":
            found["raster, subscriptions"] = changes_s + _gets_s(index.match, workload)
    return found


def _changes_s(index: SubscriptionIndex[int], workload: Workload) -> float:
    start = time.process_time()
    for number, circle in enumerate(workload.adds):
        index.add(number, TOPIC, circle, client=number)
    for number, circle in enumerate(workload.updates):
        index.update(number, area=circle)
    return time.process_time() - start


def _gets_s(match: Callable[..., Any], workload: Workload) -> float:
    start = time.process_time()
    for point in workload.gets:
        match(TOPIC, point)
    return time.process_time() - start


def workload_claims(rounds: Sequence[Times]) -> Iterator[Claim]:
    """What the paper says about its structures, and our own figure; a round is one run of all."""

    def of(draw: Draw, name: str) -> float:
        return draw([each[name] for each in rounds if name in each])

    def times_the_raster(name: str, draw: Draw) -> float:
        return of(draw, name) / of(draw, "raster, rows")

    for tree, other in (("R-tree", "R-tree, in C"), ("B-tree", "B-tree, SQLite's")):
        theirs = THEIRS_S[tree] / THEIRS_S["raster"]
        yield Claim(
            WORK, "3.3", f"the raster at least {theirs:.0f} times as fast as {_ARTICLE[tree]} "
            f"(rows; another {other})", f"× {theirs:.0f}", Unit.TIMES,
            partial(times_the_raster, f"{tree}, rows"),
            least=theirs, neutral=1,
        )  # fmt: skip
    yield Claim(
        OURS, "index", "answers as subscriptions take at most 3 times as long as row numbers", "",
        Unit.TIMES, lambda draw: of(draw, "raster, subscriptions") / of(draw, "raster, rows"),
        most=3,
    )  # fmt: skip

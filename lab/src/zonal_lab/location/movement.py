"""Who moves beside who rests, in the same run: our own claims about both ends."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from zonal_lab.experiment import OURS, Claim, Unit, change
from zonal_lab.location.rounds import nodes_by_case, samples_of
from zonal_lab.location.samples import count_distinct
from zonal_lab.location.techniques import LOCATION_AWARE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from zonal_lab.experiment import Draw, Results

SCENARIO = "moving"
MOST_LOST_MORE = 0.5
"""Points that who moves may lose more than who rests: a tenth of what baselines lose in spread."""
MOST_SLOWER = 10.0
"""Per cent that messages of who moves may take longer than those of who rests."""

End = Literal["subscriber", "publisher"]


class EndFigures(NamedTuple):
    """Of the messages of one end of the network, in one round."""

    mean_ms: float
    loss: float


class Movement:
    """The figures of who moves and of who rests, of every round over TCP with full routers."""

    def __init__(self, results: Results) -> None:
        self._ends: dict[tuple[str, End, str], list[EndFigures]] = defaultdict(list)
        self._doubles: dict[str, list[float]] = defaultdict(list)
        for case, nodes in nodes_by_case(results).items():
            if case.startswith(f"{SCENARIO}-tcp-100-"):
                self._add(nodes, samples_of(results, case))

    def _add(self, nodes: list[dict[str, Any]], samples: pa.Table) -> None:
        technique = nodes[0]["technique"]
        measured = [each for each in nodes if each["measured"] and each["role"] == "subscriber"]
        self._doubles[technique].append(sum(each["doubles"] for each in measured))
        for end in ("subscriber", "publisher"):
            ways: dict[str, list[EndFigures]] = defaultdict(list)
            for node in measured if end == "subscriber" else nodes:
                if node["role"] == end and node["sampled"]:
                    ways[node["way"]].append(_figures(samples, node, end))
            for way, rows in ways.items():
                self._ends[technique, end, way].append(
                    EndFigures(*(float(each) for each in np.nanmean(rows, axis=0)))
                )

    def doubles(self, technique: str) -> list[float]:
        """How many messages came twice, of every round; a `LookupError` where none was run."""
        return self._doubles[technique]

    def of(self, technique: str, end: End, way: str, name: str) -> list[float]:
        """A figure of every round: of the mean subscriber, or publisher, that rests or moves."""
        return [getattr(each, name) for each in self._ends[technique, end, way]]


def _figures(samples: pa.Table, node: dict[str, Any], end: End) -> EndFigures:
    mine = samples[end].to_numpy() == node["node"]
    took = (samples["received_us"].to_numpy() - samples["sent_us"].to_numpy())[mine] / 1e3
    ends = [samples[name].to_numpy()[mine].astype(np.int64) for name in ("subscriber", "publisher")]
    distinct = count_distinct(ends[0] << 48 | ends[1] << 36 | samples["number"].to_numpy()[mine])
    mean_ms = float(took.mean()) if len(took) else float("nan")
    return EndFigures(mean_ms, max(1 - distinct / node["sampled"], 0.0))


def movement_claims(results: Results) -> Iterator[Claim]:
    """What being on the move may cost, by every encoding."""
    movement = Movement(results)
    for name in LOCATION_AWARE:
        yield Claim(
            OURS, SCENARIO, f"{name}: nothing comes twice (messages a round)", "", Unit.COUNT,
            _doubled(movement, name), most=0,
        )  # fmt: skip
        yield Claim(
            OURS, SCENARIO,
            f"{name}: subscribers that move lose at most {MOST_LOST_MORE:g} points more of what "
            "they want for sure than those that rest", "", Unit.POINTS,
            _lost_more(movement, name, "subscriber"), most=MOST_LOST_MORE,
        )  # fmt: skip
        yield Claim(
            OURS, SCENARIO,
            f"{name}: of a publisher that moves at most {MOST_LOST_MORE:g} points more are lost "
            "than of one that rests on its way", "", Unit.POINTS,
            _lost_more(movement, name, "publisher"), most=MOST_LOST_MORE,
        )  # fmt: skip
        yield Claim(
            OURS, SCENARIO,
            f"{name}: messages of a publisher that moves take at most {MOST_SLOWER:g} % longer "
            "than those of one that rests on its way", "", Unit.CHANGE,
            _slower(movement, name), most=MOST_SLOWER,
        )  # fmt: skip


def _doubled(movement: Movement, name: str) -> Callable[[Draw], float]:
    return lambda draw: draw(movement.doubles(name))


def _lost_more(movement: Movement, name: str, end: End) -> Callable[[Draw], float]:
    def figure(draw: Draw) -> float:
        moves, rests = (draw(movement.of(name, end, way, "loss")) for way in ("moves", "rests"))
        return 100 * (moves - rests)

    return figure


def _slower(movement: Movement, name: str) -> Callable[[Draw], float]:
    def figure(draw: Draw) -> float:
        of = [draw(movement.of(name, "publisher", way, "mean_ms")) for way in ("moves", "rests")]
        return change(*of)

    return figure

"""What we want of our parts beside others, as functions of rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment import OURS as OUR_FIGURE
from zonal_lab.experiment import Claim, Unit
from zonal_lab.peers.samples import OURS, Compared, Metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from zonal_lab.experiment import Draw, Results

_STEP = Metric("fences", ("step_cpu_us",), "", "")
_EVENTS = Metric("fences", ("events_a_step",), "", "")
_SECONDS = Metric("index", ("seconds",), "", "")
_ARRIVAL = Metric("use-case", ("arrival_cpu_us",), "", "")
_DELIVERED = Metric("use-case", ("deliveries_each",), "", "")
_JOIN = Metric("joins", ("cpu_s",), "", "")
_JOINED = Metric("joins", ("deliveries",), "", "")
_HITS = Metric("things", ("circle_hits",), "", "")


def claims(results: Results) -> Iterator[Claim]:
    """Those on works that the plan has."""
    works = results.manifest()["plan"]["works"]
    return (claim for work, claim in _claims(Compared(results)) if work in works)


def _claims(found: Compared) -> Iterator[tuple[str, Claim]]:
    """The index beside GeoBroker's own, the border beside Tile38; and that all answer alike."""

    def times(metric: Metric, system: str) -> Callable[[Draw], float]:
        """How many times our figure theirs is."""
        ours, theirs = (list(found.values(metric, each).values()) for each in (OURS, system))
        return lambda draw: draw(theirs) / draw(ours)

    yield "index", Claim(
        OUR_FIGURE, "index", "GeoBroker's workload at least twice as fast as its own raster on the "
        "same machine, answers as subscriptions", "1.6 s on theirs", Unit.TIMES,
        times(_SECONDS, "geobroker"), least=2, neutral=1,
    )  # fmt: skip
    yield "fences", Claim(
        OUR_FIGURE, "border", "a step among fences costs no more processor time than Tile38's",
        "", Unit.TIMES, times(_STEP, "tile38"), least=1, neutral=1,
    )  # fmt: skip

    def apart(metric: Metric, system: str) -> Callable[[Draw], float]:
        def figure(_: Draw) -> float:
            return max(abs(100 * each - 100) for each in _some(found.ratios(metric, system)))

        return figure

    yield "fences", Claim(
        OUR_FIGURE, "border", "as many entries and exits as Tile38 tells of the same steps, within "
        "1 % in every round", "", Unit.CHANGE, apart(_EVENTS, "tile38"), most=1, exact=True,
    )  # fmt: skip
    yield "use-case", Claim(
        OUR_FIGURE, "broker, GeoBroker's use case", "an arrival costs no more processor time than "
        "at GeoBroker's own server", "", Unit.TIMES, times(_ARRIVAL, "geobroker"), least=1,
        neutral=1,
    )  # fmt: skip
    yield "use-case", Claim(
        OUR_FIGURE, "broker, GeoBroker's use case", "as many deliveries a publication as its own "
        "server makes, within 10 %", "", Unit.TIMES, times(_DELIVERED, "geobroker"), least=0.9,
        most=1.1,
    )  # fmt: skip
    yield "joins", Claim(
        OUR_FIGURE, "pipeline", "the join of deliveries costs no more processor time than Apache "
        "Sedona's distance join", "", Unit.TIMES, times(_JOIN, "sedona"), least=1, neutral=1,
    )  # fmt: skip
    yield "joins", Claim(
        OUR_FIGURE, "pipeline", "as many deliveries as Apache Sedona's distance join finds, within "
        "0.01 % in every round", "", Unit.CHANGE, apart(_JOINED, "sedona"), most=0.01, exact=True,
    )  # fmt: skip
    for system, name in (("tile38", "Tile38"), ("redis", "Redis"), ("postgis", "PostGIS")):
        yield "things", Claim(
            OUR_FIGURE, "store", f"as many things in the same circles as {name} finds, within 1 % "
            "in every round", "", Unit.CHANGE, apart(_HITS, system), most=1, exact=True,
        )  # fmt: skip


def _some(values: list[float]) -> list[float]:
    if not values:
        raise LookupError("nothing to compare")
    return values

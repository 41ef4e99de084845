"""How the cases of `scale` are run: routers on loopback, cities in this process."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from typing import TYPE_CHECKING

from zonal_lab.experiment import Outcome, Trial
from zonal_lab.scale.city import SPARSE
from zonal_lab.scale.city_figures import simulate
from zonal_lab.scale.growth import measure_growth
from zonal_lab.scale.movement import movement_of
from zonal_lab.scale.plan import ScaleCase
from zonal_lab.scale.router_cost import measure_router
from zonal_lab.scale.small_network import run_networks
from zonal_lab.systems import router_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from zonal_lab.experiment import Results
    from zonal_lab.scale.plan import ScalePlan

_SECONDS = {
    "router": 0.004,
    "city": 0.0003,
    "sparse": 0.002,
    "network": 0.1,
    "movement": 0.0,
    "index": 5e-5,
    "broker": 3e-4,
    "store": 1e-4,
    "lake": 4e-7,
}
"""About how long a part takes, for each of its size."""


class ScaleTrial(Trial[ScaleCase]):
    """The experiment with its options set."""

    emulates = False

    def __init__(
        self,
        plan: ScalePlan,
        geolife: Path | None = None,
        capmetro: Path | None = None,
        zenohd: Path | None = None,
    ) -> None:
        super().__init__(plan)
        self._zenohd = None if zenohd is None else str(zenohd.absolute())
        self._plan = plan
        self._geolife, self._capmetro = geolife, capmetro

    def prepare(self, results: Results) -> dict[str, str]:
        """Say whose movement it is, and whose routers."""
        del results
        routers = router_words(self._zenohd)
        if "movement" not in self._plan.parts:
            return routers
        known = {"Geolife": self._geolife, "CapMetro": self._capmetro}
        words = " and ".join(f"{name}'s journeys" for name, each in known.items() if each)
        made_up = "made-up walks; --geolife and --capmetro name recorded journeys"
        return {"movement": words or made_up, **routers}

    def seconds_of(self, case: ScaleCase) -> float:
        """By its size."""
        return 3 + _SECONDS[case.part] * case.size

    @contextlib.contextmanager
    def stage(self, case: ScaleCase) -> Iterator[Callable[[ScaleCase], Outcome]]:
        """Nothing is shared."""
        del case
        yield self._run

    def _run(self, case: ScaleCase) -> Outcome:
        seed = self._plan.seed + 1000 * case.round
        match case.part:
            case "router":
                return Outcome(measure_router(case.size, seed, self._zenohd))
            case "movement":
                return Outcome(movement_of(self._geolife, self._capmetro))
            case "city":
                return Outcome(asdict(simulate(case.size, seed + case.size)))
            case "sparse":
                return Outcome(asdict(simulate(case.size, seed + case.size + 3, SPARSE)))
            case "network":
                return Outcome(run_networks(case.size, seed + case.size + 7, self._zenohd))
            case growing:
                return Outcome(measure_growth(growing, case.size))

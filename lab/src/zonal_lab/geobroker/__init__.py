"""The experiment `geobroker`: section 5 of the GeoBroker paper, on loopback.

- `plan`, `trial`: systems × clients; `brokers`: the systems; `journeys`: where clients go;
  `travel` with its `roles`, `traveller` and `message`: one use case.
- `oracle`: recorded deliveries against the deliveries job; `everything_matches`: what the checks of
  places cost where they filter nothing. The index alone is in `zonal_lab.index`.
- `samples`: the raw data and figures from it; `claims`, `page`, `pictures`: what the page says and
  shows.
"""

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal_lab.geobroker.everything_matches import Overhead, measure_overhead
    from zonal_lab.geobroker.experiment import EXPERIMENT
    from zonal_lab.geobroker.journeys import Journey, journeys_for, run_workload_job
    from zonal_lab.geobroker.plan import KINDS, GeobrokerPlan, UseCase
    from zonal_lab.geobroker.travel import Travelled, run_use_case
    from zonal_lab.geobroker.traveller import PUBLISH
else:
    __getattr__ = loaded_late(__name__)

__all__ = [
    "EXPERIMENT",
    "KINDS",
    "PUBLISH",
    "GeobrokerPlan",
    "Journey",
    "Overhead",
    "Travelled",
    "UseCase",
    "journeys_for",
    "measure_overhead",
    "run_use_case",
    "run_workload_job",
]

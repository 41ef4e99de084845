"""The experiment `scale`: from thousands to ten million subscribers, by a model that is measured.

- `router_cost`: what a declaration and a publication cost a real router by what it knows.
- `movement`: how often who moves declares anew, from recorded journeys.
- `city`: real covers, unions and their changes of one city; `world`: cities, regions, continents,
  and what each design of the way up does to their routers.
- `small_network`: a real network whose numbers the model must predict.
- `plan`, `trial`, `claims`, `page`, `pictures`: as in every experiment.
"""

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal_lab.scale.experiment import EXPERIMENT
else:
    __getattr__ = loaded_late(__name__)

__all__ = ["EXPERIMENT"]

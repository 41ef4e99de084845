"""The experiment `scale`: from thousands to ten million subscribers, by a model that is measured.

- `router_cost`: what a declaration and a publication cost a real router by what it knows.
- `movement`: how often who moves declares anew, from recorded journeys.
- `city`, `city_figures`: real covers, unions and their changes of one city; `occupancy`: the law
  of how many cells a city wants; `curve`: the figures of a city of any size.
- `world`: cities, regions, continents, and what each design of the way up does to their routers.
- `small_network`, `movers`, `gateway`: a real network whose numbers the model must predict.
- `growth`, `broker_growth`, `mqtt_crowd`: what grows in one process.
- `plan`, `trial`, `samples`, `claims`, `page` and its parts, `pictures`: as in every experiment.
"""

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal_lab.scale.experiment import EXPERIMENT
else:
    __getattr__ = loaded_late(__name__)

__all__ = ["EXPERIMENT"]

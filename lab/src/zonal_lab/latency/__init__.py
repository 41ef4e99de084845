"""The experiment `latency`: round trips of Zenoh and MQTT, after Barón 2024, section 5.2.

- `plan`, `trial`: scenarios × stacks; `scenarios`: the emulated hosts; `stacks`: what is compared;
  `hosts` with its `roles` and `ends`: one case on the hosts of a scenario.
- `samples`, `summary`: the raw data, and medians from it; `claims`, `page`, `pictures`: what the
  page says and shows.
"""

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal_lab.latency.experiment import EXPERIMENT
else:
    __getattr__ = loaded_late(__name__)

__all__ = ["EXPERIMENT"]

"""The experiment `reliability`: five megabytes at once, after Barón 2024, section 5.3.

- `plan`, `trial`: sizes × guarantees × transports × stacks; `hosts` with its `roles` and `ends`:
  one case between two hosts.
- `samples`: the raw data and figures from it; `claims`, `page`, `pictures`: what the page says and
  shows.
"""

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal_lab.reliability.experiment import EXPERIMENT
else:
    __getattr__ = loaded_late(__name__)

__all__ = ["EXPERIMENT"]

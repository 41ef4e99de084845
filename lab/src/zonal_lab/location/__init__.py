"""The experiment `location`: after Visotto 2023, chapter 7, and Visotto and Mottola 2024.

- `plan`, `trial`: techniques × scenarios × transports × shares of the processor; `techniques`: how
  a place travels with a message; `scene` with its `roles`, `message` and `pacing`: one case on a
  network; `false_positives`: section 7.8.
- `samples`: the raw data; `summary`, `spark_summary`: figures from it, in this process or on Spark;
  `floor`: what the clients' trace alone costs.
- `claims`, `page`, `pictures`: what the page says and shows.
"""

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal_lab.location.experiment import EXPERIMENT
else:
    __getattr__ = loaded_late(__name__)

__all__ = ["EXPERIMENT"]

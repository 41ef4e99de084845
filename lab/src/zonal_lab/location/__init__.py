"""The experiment `location`: chapter 7 of Visotto's thesis and the paper after it.

- `plan`, `trial`: techniques × scenarios × transports × shares of the processor; `techniques`: how
  a place travels with a message; `scene` with its `roles`, `message` and `pacing`: one case on a
  network; `false_positives`: section 7.8.
- `samples`: the raw data; `summary`, `spark_summary`: figures from it, in this process or on Spark;
  `floor`: what the clients' trace alone costs.
- `claims`, `page`, `pictures`: what the page says and shows.
"""

from zonal_lab.location.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]

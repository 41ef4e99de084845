"""The experiment `peers`: other systems beside ours, on the same work, in one run.

- `programs`: where they are, and how each is started in its best configuration.
- `things` (what is where now), `fences` (who enters), `index_work` (GeoBroker's own code beside our
  index), `mqtt_work` (brokers under a load in C): the works, each from a system to its figures.
- `resp`: the protocol of Redis and Tile38; `service`: our parts in a process of their own.
- `plan`, `trial`, `claims`, `page`, `pictures`: as in every experiment.
"""

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal_lab.peers.experiment import EXPERIMENT
    from zonal_lab.peers.resp import RespClient, command
else:
    __getattr__ = loaded_late(__name__)

__all__ = ["EXPERIMENT", "RespClient", "command"]

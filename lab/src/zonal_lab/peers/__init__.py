"""The experiment `peers`: other systems beside ours, on the same work, in one run.

- `getting`: programs from the public registries; `programs`: where they are, and how each is
  started in its best configuration.
- The works, each from a system to its figures: `things` (what is where now, at a `thing_server`),
  `fences` (who enters), `index_work` (GeoBroker's own code beside our index), `use_case` (its
  server), `mqtt_work` (brokers), `rest_work`, `joins_work` (deliveries on Spark). Loads are in C.
- `resp`: the protocol of Redis and Tile38; `service`: our parts in a process of their own.
- `plan`, `trial`, `claims`, `page`, `pictures`: as in every experiment.
"""

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal_lab.peers.experiment import EXPERIMENT
    from zonal_lab.peers.getting import get_programs, lacking
    from zonal_lab.peers.joins_data import message_table, subscription_table
    from zonal_lab.peers.resp import RespClient, command
else:
    __getattr__ = loaded_late(__name__)

__all__ = [
    "EXPERIMENT",
    "RespClient",
    "command",
    "get_programs",
    "lacking",
    "message_table",
    "subscription_table",
]

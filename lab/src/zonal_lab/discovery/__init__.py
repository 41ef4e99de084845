"""The experiment `discovery`: how long until a subscriber hears its first message.

- `plan`, `trial`: topologies × scouting; `role`: the process in each node.
- `page`: the table of times.
"""

from zonal_lab.discovery.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]

"""The experiment `discovery`: how long until a subscriber hears its first message.

- `plan`, `trial`: topologies × scouting; `role`: the process in each node.
- `page`: the table of times.
"""

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal_lab.discovery.experiment import EXPERIMENT
else:
    __getattr__ = loaded_late(__name__)

__all__ = ["EXPERIMENT"]

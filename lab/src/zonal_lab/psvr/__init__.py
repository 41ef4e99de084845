"""The experiment `psvr`: the evaluation of the PSVR paper, with the mesh of `zonal.mesh`.

- `parts`: what is evaluated, a file each; `sweep`: running tasks, on Spark or here.
- `peers`: PSVR and what it is compared with; `channels`: radio and recorded links; `plane`: points
  with a reach; `corruption`: node states as bad as can be; `processes`: a fleet of real nodes.
- `command`, `settled_mesh`, `drawing`: meshes to look at.
"""

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal_lab.psvr.channels import TraceChannel, read_k7
    from zonal_lab.psvr.command import app
    from zonal_lab.psvr.corruption import Corruption
    from zonal_lab.psvr.experiment import EXPERIMENT
    from zonal_lab.psvr.peers import OlderScheme, PsvrScheme, SourceTrees, bfs_tree, shen_scheme
else:
    __getattr__ = loaded_late(__name__)

__all__ = [
    "EXPERIMENT",
    "Corruption",
    "OlderScheme",
    "PsvrScheme",
    "SourceTrees",
    "TraceChannel",
    "app",
    "bfs_tree",
    "read_k7",
    "shen_scheme",
]

"""The experiment `psvr`: the evaluation of the PSVR paper, with the mesh of `zonal.mesh`.

- `command`: the command line; `evaluation`: what each figure sweeps over; `sweep`: running tasks,
  on Spark or here, and their files; `tasks`: what is computed; `figures`: pictures and sentences.
- `peers`: PSVR and what it is compared with; `channels`: radio and recorded links; `plane`: points
  with a reach; `corruption`: node states as bad as can be; `processes`: a fleet of real nodes.
- `settled_mesh`, `drawing`: a mesh as a picture.
"""

from zonal_lab.psvr.channels import TraceChannel, read_k7
from zonal_lab.psvr.command import app
from zonal_lab.psvr.corruption import Corruption
from zonal_lab.psvr.peers import OlderScheme, PsvrScheme, SourceTrees, bfs_tree, shen_scheme

__all__ = [
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

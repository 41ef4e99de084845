"""PSVR and what it is compared with.

A *scheme* computes the messages of one publication on a settled network: `rings` has PSVR, by the
very forwarding function of the nodes, and the older ring algorithm ([14] of the paper); `trees`
has Shen's tree routing ([13]), one breadth-first tree for all (T_S) and one per publisher (T_D,
near the optimum). `shen` is Shen's routing as a layer of running nodes, with its own packet.
"""

from zonal_lab.psvr.peers.outcome import Message, Outcome, Scheme
from zonal_lab.psvr.peers.rings import FigurePsvr, OlderScheme, PsvrScheme, places, ring_of
from zonal_lab.psvr.peers.shen import Interest, Shen
from zonal_lab.psvr.peers.trees import (
    SourceTrees,
    TreeScheme,
    bfs_tree,
    centre,
    depths,
    shared_tree,
    shen_scheme,
)

__all__ = [
    "FigurePsvr",
    "Interest",
    "Message",
    "OlderScheme",
    "Outcome",
    "PsvrScheme",
    "Scheme",
    "Shen",
    "SourceTrees",
    "TreeScheme",
    "bfs_tree",
    "centre",
    "depths",
    "places",
    "ring_of",
    "shared_tree",
    "shen_scheme",
]

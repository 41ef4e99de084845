"""The subscription index beside its peers: what GeoBroker's authors did with theirs.

- `alternatives`: an R-tree, a packed tree and a list behind the index' own interface.
- `workload`: trajectories, and the geofence operations at their places; `timing`: their times.
- `throughput`, `pictures`: the paper's figures 7 and 8, and what it says about them.
"""

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal_lab.index.alternatives import BTreeFences, LinearFences, RTreeFences, STRTreeFences
    from zonal_lab.index.pictures import draw_geo_or_not, draw_granularity
    from zonal_lab.index.throughput import (
        WAYS,
        break_even,
        geo_claims,
        granularity_claims,
        sweep_clients,
        sweep_granularity,
        walk_of,
        walks_of_all,
    )
    from zonal_lab.index.timing import time_workload, workload_claims
    from zonal_lab.index.workload import (
        RADIUS_M,
        TOPIC,
        Trajectory,
        Workload,
        arrivals,
        circle_at,
        geobroker_workload,
        load_trajectories,
        scattered_circles,
    )
else:
    __getattr__ = loaded_late(__name__)

__all__ = [
    "RADIUS_M",
    "TOPIC",
    "WAYS",
    "BTreeFences",
    "LinearFences",
    "RTreeFences",
    "STRTreeFences",
    "Trajectory",
    "Workload",
    "arrivals",
    "break_even",
    "circle_at",
    "draw_geo_or_not",
    "draw_granularity",
    "geo_claims",
    "geobroker_workload",
    "granularity_claims",
    "load_trajectories",
    "scattered_circles",
    "sweep_clients",
    "sweep_granularity",
    "time_workload",
    "walk_of",
    "walks_of_all",
    "workload_claims",
]

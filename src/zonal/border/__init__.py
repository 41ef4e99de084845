"""Events at the border: who comes into a zone, stays in it, leaves it, or jumps across. Pure.

`Border` is the machine: places and times in, events out. `ZoneSet` are the zones, `BorderPlan`
what is asked of them, `FenceEvent` what comes out. Session, broker, pipeline and command line use
the same machine, so what was seen live and what is computed from a log agree.
"""

from zonal.border.border import Border
from zonal.border.events import KINDS, BorderPlan, FenceEvent, micros_of, moment
from zonal.border.things import KeptThing, NotedPlace
from zonal.border.zone_set import GivenZones, ZoneSet

__all__ = [
    "KINDS",
    "Border",
    "BorderPlan",
    "FenceEvent",
    "GivenZones",
    "KeptThing",
    "NotedPlace",
    "ZoneSet",
    "micros_of",
    "moment",
]

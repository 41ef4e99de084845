"""The parts of the PSVR evaluation, a file each: tasks, work, section of the page, claims."""

from zonal_lab.psvr.parts.channels import CHANNELS
from zonal_lab.psvr.parts.delivery import DELIVERY
from zonal_lab.psvr.parts.density import DENSITY
from zonal_lab.psvr.parts.joining import JOINING
from zonal_lab.psvr.parts.messages import MESSAGES
from zonal_lab.psvr.parts.moving import MOVING, MOVING_PROCESSES
from zonal_lab.psvr.parts.part import Part, Row
from zonal_lab.psvr.parts.processes import PROCESSES
from zonal_lab.psvr.parts.recorded import RECORDED
from zonal_lab.psvr.parts.recovery import RECOVERY
from zonal_lab.psvr.parts.rest import REST
from zonal_lab.psvr.parts.routes import ROUTES
from zonal_lab.psvr.parts.subscribing import SUBSCRIBING
from zonal_lab.psvr.parts.weak_links import WEAK_LINKS

PARTS: dict[str, Part] = {
    each.name: each
    for each in (
        MESSAGES,
        DELIVERY,
        ROUTES,
        DENSITY,
        RECORDED,
        PROCESSES,
        WEAK_LINKS,
        MOVING,
        MOVING_PROCESSES,
        RECOVERY,
        JOINING,
        SUBSCRIBING,
        CHANNELS,
        REST,
    )
}
"""By name, in the order of the page."""

__all__ = ["PARTS", "Part", "Row"]

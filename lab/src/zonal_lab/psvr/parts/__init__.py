"""The parts of the PSVR evaluation, a file each: tasks, work, section of the page, claims."""

from zonal_lab.psvr.parts.channels import CHANNELS
from zonal_lab.psvr.parts.delivery import DELIVERY
from zonal_lab.psvr.parts.density import DENSITY
from zonal_lab.psvr.parts.messages import MESSAGES
from zonal_lab.psvr.parts.part import Part, Row
from zonal_lab.psvr.parts.processes import PROCESSES
from zonal_lab.psvr.parts.recorded import RECORDED
from zonal_lab.psvr.parts.recovery import RECOVERY
from zonal_lab.psvr.parts.rest import REST
from zonal_lab.psvr.parts.routes import ROUTES

PARTS: dict[str, Part] = {
    each.name: each
    for each in (
        MESSAGES,
        DELIVERY,
        ROUTES,
        DENSITY,
        RECORDED,
        PROCESSES,
        RECOVERY,
        CHANNELS,
        REST,
    )
}
"""By name, in the order of the page."""

__all__ = ["PARTS", "Part", "Row"]

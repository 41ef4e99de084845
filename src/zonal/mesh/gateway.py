"""A mesh node that also has a Zenoh session: topics travel between the mesh and the routers.

Messages are marked where they cross, so that several gateways between the same two worlds do not
send one back and forth: what a gateway put into Zenoh carries an attachment, what it put into the
mesh carries a flag, and neither crosses again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal.errors import MeshError
from zonal.mesh.envelope import MeshEnvelope

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from zonal.geo import Area
    from zonal.mesh.session import MeshSession
    from zonal.mesh.subscriber import MeshSample, MeshSubscriber
    from zonal.session import Sample, Session, Subscriber

MARK = b"zonal-mesh:"
"""How the attachment of a message begins that came out of a mesh; the node's number follows."""


@dataclass(slots=True)
class GatewayCounters:
    """What crossed, and what did not."""

    to_zenoh: int = 0
    to_mesh: int = 0
    turned_back: int = 0
    too_large: int = 0


class Gateway:
    """Carries topics, both ways, from an area or from everywhere.

    Open both ends without a position: a gateway's own place says nothing about what it carries.
    """

    def __init__(
        self,
        mesh: MeshSession,
        session: Session,
        topics: Iterable[str],
        *,
        area: Area | None = None,
    ) -> None:
        self.mesh = mesh
        self.session = session
        self.counters = GatewayCounters()
        self._mark = MARK + str(mesh.id).encode()
        self._subscribers: list[Subscriber | MeshSubscriber] = []
        for topic in topics:
            beyond = session.declare_subscriber(topic, self._from_zenoh, area=area, fenced=True)
            here = mesh.declare_subscriber(topic, self._from_mesh, area=area, fenced=True)
            self._subscribers += (beyond, here)

    def _from_mesh(self, sample: MeshSample) -> None:
        if sample.from_gateway:
            self.counters.turned_back += 1
            return
        self.counters.to_zenoh += 1
        self.session.put(
            sample.key,
            sample.payload,
            location=sample.location,
            geofence=sample.geofence,
            attachment=self._mark,
        )

    def _from_zenoh(self, sample: Sample) -> None:
        if (sample.attachment or b"").startswith(MARK):
            self.counters.turned_back += 1
            return
        try:
            payload = sample.payload.to_bytes()
            self.mesh.put_message(
                MeshEnvelope(
                    sample.key, payload, sample.location, sample.geofence, from_gateway=True
                )
            )
        except MeshError:
            self.counters.too_large += 1
            return
        self.counters.to_mesh += 1

    def close(self) -> None:
        """Carry nothing any more; mesh and session stay open."""
        for subscriber in self._subscribers:
            subscriber.undeclare()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

"""A mesh node that also has a Zenoh session: topics travel between the mesh and the routers.

Messages are marked where they cross, so that several gateways between the same two worlds do not
send one back and forth: what a gateway put into Zenoh carries an attachment, what it put into the
mesh carries a flag, and neither crosses again.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import zenoh

from zonal.errors import MeshError, ZonalError
from zonal.mesh.backlog import Backlog, KeptSample
from zonal.mesh.envelope import MeshEnvelope
from zonal.mesh.supervisor import Supervisor

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from zonal.geo import GivenArea
    from zonal.mesh.session import MeshSession
    from zonal.mesh.subscriber import MeshSample, MeshSubscriber
    from zonal.session import Sample, Session, Subscriber

_WAIT_S = 0.2  # between looks at whether there is something to carry, and somewhere to
_SETTLE_S = 1.0  # from a connection to the first message: by then it is known who subscribes

MARK = b"zonal-mesh:"
"""How the attachment of a message begins that came out of a mesh; the node's number follows."""


@dataclass(slots=True)
class GatewayCounters:
    """What crossed, and what did not; `backlog` knows what waits, and what had to give way."""

    to_zenoh: int = 0
    to_mesh: int = 0
    turned_back: int = 0
    too_large: int = 0


class Gateway:
    """Carries topics, both ways, from an area or from everywhere.

    Open both ends without a position: a gateway's own place says nothing about what it carries.

    What the mesh says while no router is in reach waits, and goes to the routers in order, with the
    time at which it was heard, once they have been in reach for a second. Each message is put once.
    A router that is gone without a word is noticed when its link's lease is over (ten seconds in
    Zenoh); what was put until then is lost with the link.

    Args:
        mesh: a session of the mesh.
        session: one of Zenoh; in peer mode it can be opened before any router is there.
        topics: to carry; wildcards are allowed.
        area: only what comes from there.
        backlog: bounds what waits, by default 10,000 messages and 16 MiB.
    """

    def __init__(
        self,
        mesh: MeshSession,
        session: Session,
        topics: Iterable[str],
        *,
        area: GivenArea | None = None,
        backlog: Backlog | None = None,
    ) -> None:
        self.mesh = mesh
        self.session = session
        self.counters = GatewayCounters()
        self.backlog = Backlog() if backlog is None else backlog
        self._mark = MARK + str(mesh.id).encode()
        self._reached_at: float | None = None
        self._supervisor = Supervisor(f"mesh-gateway-{mesh.id}", self._carry, stopped=self._stop)
        self._supervisor.start()
        self._subscribers: list[Subscriber | MeshSubscriber] = []
        for topic in topics:
            beyond = session.declare_subscriber(topic, self._from_zenoh, area=area, fenced=True)
            here = mesh.declare_subscriber(topic, self._from_mesh, area=area, fenced=True)
            self._subscribers += (beyond, here)

    def _from_mesh(self, sample: MeshSample) -> None:
        if sample.from_gateway:
            self.counters.turned_back += 1
            return
        self.backlog.add(KeptSample(sample, self.session.zenoh.new_timestamp()))

    def _carry(self) -> None:
        """Hand one message to the routers, if there is one and if they are in reach."""
        kept = self.backlog.first(_WAIT_S)
        if not self._reaches():
            time.sleep(_WAIT_S if kept else 0)
        elif kept is not None:
            self._put(kept)

    def _put(self, kept: KeptSample) -> None:
        sample = kept.sample
        self.session.put(
            sample.key,
            sample.payload,
            location=sample.location,
            geofence=sample.geofence,
            attachment=self._mark,
            timestamp=kept.heard_at,
            congestion_control=zenoh.CongestionControl.BLOCK,
        )
        self.backlog.remove(kept)
        self.counters.to_zenoh += 1

    def _reaches(self) -> bool:
        """Whether routers (or peers) are connected, for long enough to know who subscribes."""
        info = self.session.zenoh.info
        if not info.routers_zid() and not info.peers_zid():
            self._reached_at = None
            return False
        now = time.monotonic()
        if self._reached_at is None:
            self._reached_at = now
        return now - self._reached_at >= _SETTLE_S

    def _stop(self) -> None:
        """It cannot go on: every put fails. What waits stays in `backlog`."""
        for subscriber in self._subscribers:
            with contextlib.suppress(ZonalError):  # an end that is closed already
                subscriber.undeclare()

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
        """Carry nothing any more, not even what waits; mesh and session stay open."""
        self._supervisor.stop()
        self._supervisor.join(5)
        for subscriber in self._subscribers:
            subscriber.undeclare()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

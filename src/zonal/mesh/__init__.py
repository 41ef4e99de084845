"""Self-stabilizing publish/subscribe without infrastructure (PSVR).

```python
import zonal
from zonal import mesh

with mesh.open(7, peers={8: ("127.0.0.1", 4008)}) as node:
    node.put("street/temperature", b"21.5", location=zonal.Point(45.4642, 9.19))
```

From the air up, each layer stands on the one before:

- `packets` are what nodes say to one another, `wire` their bytes;
- `links` is topology control: which neighbours count;
- `tree` is the spanning tree over the links;
- `ring` has the positions on the virtual ring over the tree, `place` what a node can reach from
  its own, and algorithm 2, which forwards publications;
- `table` (algorithm 3) and `routing` (algorithm 1) know where the next subscriber is;
- `relay` carries publications over a hop, `stranded` keeps those that have no way on;
- `node` is all of it in one class, without sockets and clocks, by a `config`, with `counters`.

Two drivers run a node: `udp` over sockets (`discovery` finds neighbours by multicast), `simulation`
many of them over one of the `channels`, on a topology of `graphs`; `legitimate` says whether a
simulated mesh is as it should be, by the ring's `layout`.

On top, `topics` turns topics and places into channels of the ring, `envelope` is the data of a
publication (`fragments` of one that is large), and `session` offers put and subscribe by place:
`subscriber` is who receives, `supervisor` keeps the node's thread going, `status` is the node at a
glance. `control` serves a session to other processes of its machine, `gateway` carries topics to
and from Zenoh routers, by way of a `backlog`.
"""

from zonal.mesh.backlog import Backlog
from zonal.mesh.channels import Channel, GraphChannel, Transmission
from zonal.mesh.config import MeshConfig
from zonal.mesh.control import Door, DoorClient, default_door
from zonal.mesh.discovery import PORT as GROUP_PORT
from zonal.mesh.discovery import Discovery
from zonal.mesh.gateway import Gateway
from zonal.mesh.graphs import (
    Graph,
    Tree,
    component,
    components,
    connected_gnp,
    graph_of,
    line,
)
from zonal.mesh.layout import Layout, lay_out
from zonal.mesh.legitimate import faults, is_legitimate, used_graph
from zonal.mesh.links import Neighbour
from zonal.mesh.lock import LOCK_OCTETS, PacketLock
from zonal.mesh.node import MeshNode
from zonal.mesh.packets import (
    Ack,
    Beacon,
    Deliver,
    Effect,
    LinkReport,
    Packet,
    Pub,
    Send,
    Sub,
    View,
)
from zonal.mesh.place import Forward, Place, forwards
from zonal.mesh.relay import Pending
from zonal.mesh.ring import Reach, between
from zonal.mesh.routing import Psvr, Routing
from zonal.mesh.session import MeshSession, open  # noqa: A004
from zonal.mesh.simulation import PublicationRecord, Simulation
from zonal.mesh.status import LinkStatus, MeshStatus
from zonal.mesh.stranded import Held
from zonal.mesh.subscriber import MeshSample, MeshSubscriber
from zonal.mesh.table import RoutingRow
from zonal.mesh.tree import TreePlace
from zonal.mesh.udp import Address, LineReader, UdpDriver, parse_peer
from zonal.mesh.wire import WIRE, Codec, FieldReader, FieldWriter, PacketKind

__all__ = [  # noqa: RUF022 - in the order in which one meets them
    # A mesh to use.
    "Ack",
    "Address",
    "Backlog",
    "Discovery",
    "Door",
    "DoorClient",
    "GROUP_PORT",
    "Gateway",
    "MeshConfig",
    "MeshSample",
    "MeshSession",
    "MeshStatus",
    "LinkStatus",
    "MeshSubscriber",
    "LOCK_OCTETS",
    "PacketLock",
    "default_door",
    "open",
    "parse_peer",
    # A mesh to try out.
    "Channel",
    "Graph",
    "GraphChannel",
    "LineReader",
    "MeshNode",
    "PublicationRecord",
    "Simulation",
    "Transmission",
    "Tree",
    "UdpDriver",
    "component",
    "components",
    "connected_gnp",
    "faults",
    "graph_of",
    "is_legitimate",
    "line",
    "used_graph",
    # Packets and effects, and what another routing layer needs to speak of its own.
    "Beacon",
    "Codec",
    "Deliver",
    "Effect",
    "FieldReader",
    "FieldWriter",
    "Packet",
    "PacketKind",
    "Pub",
    "Routing",
    "Send",
    "Sub",
    "WIRE",
    # The ring, and the state of a node, for those who look inside.
    "Forward",
    "Held",
    "Layout",
    "LinkReport",
    "Neighbour",
    "Pending",
    "Place",
    "Psvr",
    "Reach",
    "RoutingRow",
    "TreePlace",
    "View",
    "between",
    "forwards",
    "lay_out",
]

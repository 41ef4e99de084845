"""Self-stabilizing publish/subscribe without infrastructure (PSVR).

```python
import zonal
from zonal import mesh

with mesh.open(7, peers={8: mesh.Peer(("127.0.0.1", 4008))}) as node:
    node.put("street/temperature", b"21.5", location=zonal.Point(45.4642, 9.19))
```
"""

from zonal.mesh.config import MeshConfig
from zonal.mesh.gateway import Gateway
from zonal.mesh.node import MeshNode
from zonal.mesh.session import MeshSample, MeshSession, MeshSubscriber, open  # noqa: A004
from zonal.mesh.simulation import Simulation
from zonal.mesh.udp import Peer

__all__ = [
    "Gateway",
    "MeshConfig",
    "MeshNode",
    "MeshSample",
    "MeshSession",
    "MeshSubscriber",
    "Peer",
    "Simulation",
    "open",
]

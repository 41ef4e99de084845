"""The protocol stacks that are compared, and where each of them can stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from zonal_lab.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zonal_lab.latency.scenarios import Scenario

Transport = Literal["tcp", "tls", "quic"]
PORTS: dict[Transport, int] = {"tcp": 7447, "tls": 7449, "quic": 7450}
Family = Literal["zenoh", "session", "mqtt", "broker"]


@dataclass(frozen=True)
class Stack:
    """A library and what it is asked to guarantee."""

    name: str
    family: Family
    title: str
    reliable: bool = False
    qos: int = 0
    transport: Transport = "tcp"

    def fits(self, scenario: Scenario) -> bool:
        """MQTT needs somebody in the middle; the link between two routers is TCP's alone."""
        if self.transport != "tcp":
            return scenario.middles < 2
        return scenario.middles > 0 or self.family in {"zenoh", "session"}


_ALL = (
    Stack("zenoh-best-effort", "zenoh", "Zenoh, best effort, drop"),
    Stack("zenoh-reliable", "zenoh", "Zenoh, reliable, block", reliable=True),
    Stack("zenoh-tls", "zenoh", "Zenoh over TLS, reliable, block", True, transport="tls"),
    Stack("zenoh-quic", "zenoh", "Zenoh over QUIC, reliable, block", True, transport="quic"),
    Stack("session-best-effort", "session", "zonal session, best effort, drop"),
    Stack("session-reliable", "session", "zonal session, reliable, block", reliable=True),
    Stack("mqtt-0", "mqtt", "Mosquitto, QoS 0", qos=0),
    Stack("mqtt-1", "mqtt", "Mosquitto, QoS 1", qos=1),
    Stack("mqtt-2", "mqtt", "Mosquitto, QoS 2", qos=2),
    Stack("broker-0", "broker", "zonal broker, QoS 0", qos=0),
    Stack("broker-1", "broker", "zonal broker, QoS 1", qos=1),
    Stack("broker-2", "broker", "zonal broker, QoS 2", qos=2),
)
STACKS: Mapping[str, Stack] = {each.name: each for each in _ALL}


def stack(name: str) -> Stack:
    """A stack by name."""
    if name not in STACKS:
        raise PlanError(f"there is no stack {name!r}; there are {', '.join(STACKS)}")
    return STACKS[name]

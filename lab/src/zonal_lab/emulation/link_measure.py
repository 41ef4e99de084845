"""Measures what an emulated link really gives, by packets from one node to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal_lab.emulation.network import EmulatedNetwork
    from zonal_lab.emulation.topology import Node

PORT = 7400


@dataclass(frozen=True)
class LinkMeasure:
    """What arrived of what was sent.

    Attributes:
        bits: on the wire, of all that arrived but the first.
        began_ns: when the first arrived, by the machine's clock.
        span_ns: from there to the last.
    """

    sent: int
    received: int
    bits: int
    began_ns: int
    span_ns: int
    delay_median_ms: float
    delay_max_ms: float

    @property
    def loss(self) -> float:
        """The share of packets that did not arrive."""
        return 1 - self.received / self.sent

    @property
    def mbit(self) -> float:
        """What it carried, in Mbit/s."""
        return carried_mbit(self)


def carried_mbit(*measures: LinkMeasure) -> float:
    """What several carried together, in Mbit/s from the first arrival of any to the last."""
    ended_ns = max(each.began_ns + each.span_ns for each in measures)
    span_ns = ended_ns - min(each.began_ns for each in measures)
    return sum(each.bits for each in measures) / span_ns * 1000 if span_ns else 0.0


def measure_link(
    network: EmulatedNetwork,
    source: Node,
    sink: Node,
    *,
    packets: int,
    packet_bytes: int = 1000,
    rate_mbit: float,
    port: int = PORT,
    when_ready: Callable[[], object] = lambda: None,
) -> LinkMeasure:
    """Send packets from one node to another at a rate and see what arrives, when.

    `when_ready` is called when both ends are there, before the first packet: who measures several
    links at once waits in it for the others.
    """
    receiver = network.start_role(sink, "zonal_lab.emulation.probe")
    receiver.ask({"do": "receive", "port": port, "bytes": packet_bytes}, 20)
    sender = network.start_role(source, "zonal_lab.emulation.probe")
    sender.ask(
        {
            "do": "send",
            "to": sink.address,
            "port": port,
            "packets": packets,
            "bytes": packet_bytes,
            "rate_mbit": rate_mbit,
        },
        20,
    )
    when_ready()
    sent = sender.ask({"do": "begin"}, 60)
    receiver.say({"do": "stop"})
    measure = LinkMeasure(sent=sent["sent"], **receiver.hear(20))
    sender.end()
    receiver.end()
    return measure

"""How the cases of `capture` are run: between two emulated hosts, brokers on the second."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from zonal_lab.capture.plan import CaptureCase
from zonal_lab.emulation import Card, EmulatedNetwork, hosts_in_a_row, wait_until
from zonal_lab.errors import EmulationError
from zonal_lab.experiment import Outcome, Trial
from zonal_lab.systems import (
    BROKER_PORT,
    MOSQUITTO_PORT,
    ROUTER,
    ZENOH_PORT,
    geo_broker_command,
    mosquitto_command,
    router_words,
    write_passwords,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from zonal_lab.capture.plan import CapturePlan
    from zonal_lab.emulation import Worker
    from zonal_lab.experiment import Results

FRAMES = "frames"
"""The kind of the raw samples in the results."""
_PATIENCE_S = 40.0


class CaptureTrial(Trial[CaptureCase]):
    """Bytes on the wire with the options set.

    Args:
        plan: what to run.
        zenohd: the program of the router on the second host, where the plan says so.
    """

    def __init__(self, plan: CapturePlan, zenohd: Path | None = None) -> None:
        super().__init__(plan)
        self._plan = plan
        self._zenohd = None if zenohd is None else str(zenohd.absolute())

    def prepare(self, results: Results) -> dict[str, str]:
        """Nothing is needed; a `zenohd` must start."""
        del results
        return router_words(self._zenohd)

    def seconds_of(self, case: CaptureCase) -> float:
        """Messages 4 ms apart, and the ends' start."""
        del case
        return self._plan.messages * 0.004 + 3

    @contextlib.contextmanager
    def stage(self, case: CaptureCase) -> Iterator[Callable[[CaptureCase], Outcome]]:
        """Two hosts; Mosquitto, our broker and a router, if there is one, on the second."""
        del case
        topology = hosts_in_a_row("capture", [Card(), Card()])
        with (
            tempfile.TemporaryDirectory() as folder,
            EmulatedNetwork(topology, seed=self._plan.seed) as network,
        ):
            _start_brokers(network, Path(folder))
            if self._zenohd is not None:
                router = network.start_role(topology.nodes[1], ROUTER)
                here = {"listen": _endpoint(network), "connect": [], "program": self._zenohd}
                router.ask({"do": "open", **here}, _PATIENCE_S)
            yield lambda each: self._run(network, each)

    def _run(self, network: EmulatedNetwork, case: CaptureCase) -> Outcome:
        sender, receiver = (
            network.start_role(node, "zonal_lab.capture.role") for node in network.topology.nodes
        )
        there, endpoint = network.topology.nodes[1].address, _endpoint(network)
        to, at = {"mode": "peer", "connect": [endpoint]}, {"mode": "peer", "listen": [endpoint]}
        if self._zenohd is not None:
            to = at = to | {"mode": "client"}  # a router passes nothing on between peers
        if not case.is_mqtt:
            receiver.ask({"do": "hear", "case": asdict(case), "way": at}, _PATIENCE_S)
        order = {"do": "open", "case": asdict(case), "way": to}
        broker = (there, BROKER_PORT if case.geo else MOSQUITTO_PORT)
        sender.ask({**order, "broker": broker}, _PATIENCE_S)
        before = 0 if case.is_mqtt else self._first_heard(sender, receiver)
        send = {"do": "send", "count": self._plan.messages, "size": self._plan.size}
        frames = sender.ask(send, _PATIENCE_S)["frames"]
        heard = 0 if case.is_mqtt else _heard(receiver) - before
        for worker in (sender, receiver):
            with contextlib.suppress(EmulationError):
                worker.ask({"do": "close"}, 10)
            worker.end()
        return Outcome({"heard": heard}, {FRAMES: frame_table(frames)})

    def _first_heard(self, sender: Worker, receiver: Worker) -> int:
        """Send until the receiver hears: nothing leaves before a subscriber is known."""

        def reaches() -> bool:
            sender.ask({"do": "send", "count": 1, "size": self._plan.size}, _PATIENCE_S)
            return _heard(receiver) > 0

        wait_until(reaches, _PATIENCE_S, "the subscriber heard nothing")
        return _heard(receiver)


def _endpoint(network: EmulatedNetwork) -> str:
    return f"tcp/{network.topology.nodes[1].address}:{ZENOH_PORT}"


def _heard(receiver: Worker) -> int:
    return int(receiver.ask({"do": "heard"}, _PATIENCE_S)["heard"])


def _start_brokers(network: EmulatedNetwork, folder: Path) -> None:
    host = network.topology.nodes[1]
    network.start(host, mosquitto_command(host.address, MOSQUITTO_PORT, folder))
    passwords = ("--passwords", str(write_passwords(folder)))
    network.start(host, geo_broker_command(host.address, BROKER_PORT, *passwords))


def frame_table(frames: list[tuple[int, int]]) -> pa.Table:
    """One row a frame with a TCP payload that left the sender's card: its bytes, the payload's."""
    whole, payload = zip(*frames, strict=True) if frames else ((), ())
    return pa.table(
        {
            "frame_bytes": pa.array(whole, pa.int32()),
            "payload_bytes": pa.array(payload, pa.int32()),
        }
    )

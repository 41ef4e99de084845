"""Runs one case: starts a system, lets the clients travel, gathers what they saw."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal_lab.emulation import Worker
from zonal_lab.geobroker.brokers import Brokers
from zonal_lab.geobroker.roles.travellers import write_journeys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zonal_lab.geobroker.journeys import Journey
    from zonal_lab.geobroker.plan import GeobrokerPlan, UseCase

_DRAIN_S = 20.0
_TOTALS = ("received", "relevant", "late", "unfinished", "due", "reached", "received_by_end")


@dataclass(frozen=True)
class Travelled:
    """What the clients of one case saw; all times on the machine's monotonic clock, in ns.

    Attributes:
        due: arrivals that the journeys ask for until the measured time is over.
        reached: those that were made, until everything rests.
        late: those made more than a second after they were due.
        received_by_end: deliveries that had come when the measured time was over.
    """

    case: UseCase
    start_ns: int
    seconds: float
    # client, step, operation, sent, acknowledged
    operations: NDArray[np.int64]
    # receiver, publisher, step, sent, received, step of its place and of its subscription by then
    deliveries: NDArray[np.int64]
    received: int
    relevant: int
    late: int
    unfinished: int
    clients_cpu_s: float
    broker_cpu_s: float
    load: float
    due: int = 0
    reached: int = 0
    received_by_end: int = 0


def run_use_case(
    case: UseCase, plan: GeobrokerPlan, ways: list[Journey], zenohd: str | None = None
) -> Travelled:
    """Run one case from start to end; federated brokers meet over that `zenohd`, if any."""
    with (
        tempfile.TemporaryDirectory(prefix="zonal-lab-") as folder,
        Brokers(case.system, zenohd) as brokers,
        contextlib.ExitStack() as workers,
    ):
        path = Path(folder)
        mine = [way.hurried(plan.speed) for way in ways[: case.clients]]
        if case.kind == "teleport":
            mine = [way.teleporting() for way in mine]
        write_journeys(path / "ways.npz", mine)
        crew = [_started(workers, number) for number in range(plan.processes)]
        for number, worker in enumerate(crew):
            numbers = list(range(number, case.clients, plan.processes))
            worker.say(
                {
                    "do": "open",
                    "path": str(path / "ways.npz"),
                    "numbers": numbers,
                    "ports": brokers.ports,
                    "geo": brokers.geo,
                }
            )
        for worker in crew:
            worker.hear(300)
        return _measured(case, plan, brokers, crew, path)


def _started(workers: contextlib.ExitStack, number: int) -> Worker:
    command = [sys.executable, "-m", "zonal_lab.geobroker.roles.travellers"]
    worker = Worker(f"travellers {number}", command)
    workers.callback(worker.end)
    return worker


def _measured(
    case: UseCase, plan: GeobrokerPlan, brokers: Brokers, crew: list[Worker], path: Path
) -> Travelled:
    length_s = plan.length_s(case)
    before = brokers.cpu_seconds()
    start_ns = time.monotonic_ns() + 200_000_000
    for worker in crew:
        worker.say(
            {
                "do": "travel",
                "start_ns": start_ns,
                "seconds": length_s,
                "ramp_s": min(plan.ramp_s, length_s / 3),
                "total": case.clients,
                "drain_s": _DRAIN_S,
            }
        )
    answers = [worker.hear(length_s + _DRAIN_S + 120) for worker in crew]
    used = brokers.cpu_seconds() - before
    for number, worker in enumerate(crew):
        worker.ask({"do": "keep", "path": str(path / str(number))}, 120)
    return Travelled(
        case=case,
        start_ns=start_ns,
        seconds=max(float(each["seconds"]) for each in answers),
        operations=_rows(path, "operations", 5),
        deliveries=_rows(path, "deliveries", 7),
        **{name: _total(answers, name) for name in _TOTALS},
        clients_cpu_s=sum(float(each["cpu_seconds"]) for each in answers),
        broker_cpu_s=used,
        load=os.getloadavg()[0],
    )


def _total(answers: list[dict[str, Any]], name: str) -> int:
    return sum(int(each[name]) for each in answers)


def _rows(path: Path, kind: str, columns: int) -> NDArray[np.int64]:
    parts = [np.fromfile(file, dtype=np.int64) for file in sorted(path.glob(f"*.{kind}"))]
    return np.concatenate(parts).reshape(-1, columns)

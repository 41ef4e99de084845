"""The raw samples of a use case, and its figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zonal_lab.geobroker.brokers import SYSTEMS
from zonal_lab.geobroker.plan import IndexCase, MatchingCase, case_name
from zonal_lab.geobroker.traveller import CONNECT, PING, PUBLISH, SUBSCRIBE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zonal_lab.experiment import Results
    from zonal_lab.geobroker.brokers import System
    from zonal_lab.geobroker.oracle import Agreement
    from zonal_lab.geobroker.travel import Travelled

OPERATIONS = {"connect": CONNECT, "ping": PING, "subscribe": SUBSCRIBE, "publish": PUBLISH}
LATENCIES = "latencies"
"""The kind of the raw samples in the results."""
_KEPT_DELIVERIES = 200_000


@dataclass(frozen=True)
class CaseFigures:
    """One use case in numbers; latencies in milliseconds."""

    system: System
    clients: int
    seconds: float
    published: int
    deliveries: int
    relevant: int
    expected: int
    lost: int
    late: int
    unfinished: int
    broker_cpu_s: float
    clients_cpu_s: float
    load: float
    latencies: dict[str, dict[str, float]]
    agreement: dict[str, int] | None = None
    oracle: str = ""
    kind: str = "travel"


def read_figures(results: Results) -> list[CaseFigures]:
    """The figures of all finished use cases: travelling first, then by clients and system."""
    parts = {IndexCase().name, MatchingCase().name}
    rows = [
        CaseFigures(**record.figures) for record in results.records() if record.name not in parts
    ]
    return sorted(
        rows, key=lambda row: (row.kind != "travel", row.clients, SYSTEMS.index(row.system))
    )


def read_part(results: Results, name: str) -> dict[str, Any] | None:
    """What a part beside the use cases gave; None where it was not run."""
    return next((each.figures for each in results.records() if each.name == name), None)


def read_latencies(results: Results, row: CaseFigures) -> pa.Table:
    """Operation, second and latency of every operation (deliveries: a sample) of a use case."""
    name = case_name(row.system, row.clients, row.kind)
    return pq.read_table(results.folder / LATENCIES / f"{name}.parquet")


def latency_table(travelled: Travelled) -> pa.Table:
    """One row an operation: its name, when it began and how long it took."""
    rows = [(name, _operation(travelled, number)) for name, number in OPERATIONS.items()]
    step = max(len(travelled.deliveries) // _KEPT_DELIVERIES, 1)
    rows.append(("delivery", travelled.deliveries[::step, 3:5]))
    return pa.table(
        {
            "operation": pa.array([name for name, times in rows for _ in range(len(times))]),
            "second": np.concatenate([(t[:, 0] - travelled.start_ns) / 1e9 for _, t in rows]),
            "latency_ms": np.concatenate([(t[:, 1] - t[:, 0]) / 1e6 for _, t in rows]),
        }
    )


def _operation(travelled: Travelled, number: int) -> NDArray[np.int64]:
    rows = travelled.operations
    found: NDArray[np.int64] = rows[rows[:, 2] == number][:, 3:5]
    return found


def figures_of(travelled: Travelled, agreement: Agreement | None, oracle: str) -> CaseFigures:
    """The figures of a use case."""
    case = travelled.case
    published = len(_operation(travelled, PUBLISH))
    # Without places everybody hears everything; with them the job says who should have heard.
    expected = published * case.clients if agreement is None else agreement.due
    lost = max(expected - travelled.received, 0) if agreement is None else agreement.missing
    timed = {name: _operation(travelled, number) for name, number in OPERATIONS.items()}
    timed["delivery"] = travelled.deliveries[:, 3:5]
    return CaseFigures(
        system=case.system,
        clients=case.clients,
        kind=case.kind,
        seconds=travelled.seconds,
        published=published,
        deliveries=travelled.received,
        relevant=travelled.relevant,
        expected=expected,
        lost=lost,
        late=travelled.late,
        unfinished=travelled.unfinished,
        broker_cpu_s=travelled.broker_cpu_s,
        clients_cpu_s=travelled.clients_cpu_s,
        load=travelled.load,
        latencies={name: _spread(times) for name, times in timed.items() if len(times)},
        agreement=None if agreement is None else asdict(agreement),
        oracle=oracle if agreement is not None else "",
    )


def _spread(times: NDArray[np.int64]) -> dict[str, float]:
    took = (times[:, 1] - times[:, 0]) / 1e6
    return {
        "mean": float(took.mean()),
        "median": float(np.median(took)),
        "p99": float(np.percentile(took, 99)),
    }

"""The raw samples of a use case, and its figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zonal_lab.geobroker.brokers import SYSTEMS
from zonal_lab.geobroker.plan import INDEX, case_name
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
_KEPT = 5000
"""So many of each operation are kept of a case, evenly spaced; its figures are of all."""


@dataclass(frozen=True)
class CaseFigures:
    """One use case in numbers; latencies in milliseconds.

    Attributes:
        arrivals_due: by the journeys, until the measured time was over; 0 where nobody looked, as
            with teleporting clients.
        arrivals_in_time: made at most a second after that.
        deliveries_due: of all those arrivals. Without places each is due to every client; with
            them, of what was published as many as came and were missing, and on average as many
            of what was not.
        deliveries_by_end: those that had come when the measured time was over.
    """

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
    round: int = 0
    arrivals_due: int = 0
    arrivals_in_time: int = 0
    deliveries_due: int = 0
    deliveries_by_end: int = 0

    @property
    def arrivals_missed(self) -> float:
        """The share of the arrivals due that were not made in time; a `LookupError` if none was."""
        if not self.arrivals_due:
            raise LookupError("nobody looked for arrivals")
        return 1 - self.arrivals_in_time / self.arrivals_due

    @property
    def deliveries_missed(self) -> float:
        """The share of the deliveries due that were not there at the end; likewise."""
        if not self.deliveries_due:
            raise LookupError("nobody looked for deliveries")
        return max(1 - self.deliveries_by_end / self.deliveries_due, 0.0)


def read_figures(results: Results) -> list[CaseFigures]:
    """The figures of all finished use cases: travelling first, by clients, system and round."""
    rows = [
        CaseFigures(**record.figures) for record in results.records() if "system" in record.case
    ]
    return sorted(rows, key=_order)


def _order(row: CaseFigures) -> tuple[bool, int, int, int]:
    return row.kind != "travel", row.clients, SYSTEMS.index(row.system), row.round


def pooled(rows: list[CaseFigures]) -> list[CaseFigures]:
    """The rounds of each case as one: counts and times are sums, latencies and load means."""
    return [_pooled(list(mine)) for _, mine in groupby(rows, key=lambda row: _order(row)[:3])]


def _pooled(rows: list[CaseFigures]) -> CaseFigures:
    sums = {name: sum(getattr(row, name) for row in rows) for name in _SUMMED}
    names = {name for row in rows for name in row.latencies}
    latencies = {
        name: {
            kind: float(
                np.mean([row.latencies[name][kind] for row in rows if name in row.latencies])
            )
            for kind in _SPREAD
        }
        for name in names
    }
    agreement = None
    if rows[0].agreement is not None:
        agreement = {
            name: sum((row.agreement or {})[name] for row in rows) for name in rows[0].agreement
        }
    load = max(row.load for row in rows)
    return replace(rows[0], **sums, latencies=latencies, agreement=agreement, load=load)


def read_index(results: Results) -> list[dict[str, Any]]:
    """What the experiments with the index gave, a round each."""
    found = [each for each in results.records() if each.name.startswith(f"{INDEX}-")]
    return [each.figures for each in found]


def read_part(results: Results, name: str) -> dict[str, Any] | None:
    """What a part beside the use cases gave; None where it was not run."""
    return next((each.figures for each in results.records() if each.name == name), None)


def read_latencies(results: Results, row: CaseFigures) -> pa.Table:
    """Operation, second and latency of every operation (deliveries: a sample) of a use case."""
    name = case_name(row.system, row.clients, row.kind, row.round)
    return pq.read_table(results.folder / LATENCIES / f"{name}.parquet")


def latency_table(travelled: Travelled) -> pa.Table:
    """One row an operation: its name, when it began and how long it took."""
    rows = [(name, _operation(travelled, number)) for name, number in OPERATIONS.items()]
    rows.append(("delivery", travelled.deliveries[:, 3:5]))
    rows = [(name, _thinned(times)) for name, times in rows]
    begun = np.concatenate([times[:, 0] for _, times in rows]) - travelled.start_ns
    took = np.concatenate([times[:, 1] - times[:, 0] for _, times in rows])
    return pa.table(
        {
            "operation": pa.array([name for name, times in rows for _ in range(len(times))]),
            "begun_ms": (begun // 1_000_000).astype(np.int32),
            "took_us": (took // 1000).astype(np.int32),
        }
    )


def _thinned(times: NDArray[np.int64]) -> NDArray[np.int64]:
    chosen = np.linspace(0, len(times) - 1, min(len(times), _KEPT)).astype(np.int64)
    thinned: NDArray[np.int64] = times[chosen]
    return thinned


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
        round=case.round,
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
        arrivals_due=travelled.due,
        arrivals_in_time=travelled.reached - travelled.late if travelled.due else 0,
        deliveries_due=_deliveries_due(travelled, published, agreement),
        deliveries_by_end=travelled.received_by_end if travelled.due else 0,
    )


def _deliveries_due(travelled: Travelled, published: int, agreement: Agreement | None) -> int:
    if agreement is None:
        return travelled.due * travelled.case.clients
    return round(travelled.due * (travelled.received + agreement.missing) / max(published, 1))


_SPREAD = ("mean", "median", "p99")
_SUMMED = (
    *("seconds", "published", "deliveries", "relevant", "expected", "lost", "late", "unfinished"),
    *("broker_cpu_s", "clients_cpu_s"),
    *("arrivals_due", "arrivals_in_time", "deliveries_due", "deliveries_by_end"),
)


def _spread(times: NDArray[np.int64]) -> dict[str, float]:
    took = (times[:, 1] - times[:, 0]) / 1e6
    return {
        "mean": float(took.mean()),
        "median": float(np.median(took)),
        "p99": float(np.percentile(took, 99)),
    }

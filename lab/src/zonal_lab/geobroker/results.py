"""Results on disk: the lab's manifest, the trace, operations and figures per case, experiments."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zonal_lab.errors import PlanError
from zonal_lab.experiment.results import Results
from zonal_lab.geobroker.plan import case_name
from zonal_lab.geobroker.traveller import CONNECT, PING, PUBLISH, SUBSCRIBE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zonal_lab.geobroker.oracle import Agreement
    from zonal_lab.geobroker.plan import UseCase, UseCasePlan
    from zonal_lab.geobroker.travel import Travelled

OPERATIONS = {"connect": CONNECT, "ping": PING, "subscribe": SUBSCRIBE, "publish": PUBLISH}
_KEPT_DELIVERIES = 200_000


@dataclass(frozen=True)
class CaseFigures:
    """One case in numbers; latencies in milliseconds."""

    system: str
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


class UseCaseResults(Results):
    """A folder of travelled cases: `travelled/<case>.json` and `.parquet`."""

    def start(self, plan: UseCasePlan) -> None:
        """Write the manifest; an existing one must be of the same plan, to be continued."""
        self.begin(cast("Any", plan))
        (self.folder / "travelled").mkdir(exist_ok=True)

    def has_case(self, case: UseCase) -> bool:
        """Whether the case has already been run."""
        return (self.folder / "travelled" / f"{case.name}.json").exists()

    def keep(self, travelled: Travelled, agreement: Agreement | None, oracle: str) -> None:
        """Keep what a case gave; the figures last, they say that all is there."""
        case = travelled.case
        self._write("travelled", cast("Any", case), _latency_table(travelled))
        text = json.dumps(asdict(figures(travelled, agreement, oracle)), indent=2)
        (self.folder / "travelled" / f"{case.name}.json").write_text(text + "\n")

    def figures(self) -> list[CaseFigures]:
        """The figures of all cases."""
        files = sorted((self.folder / "travelled").glob("*.json"))
        if not files:
            raise PlanError(f"{self.folder} holds no travelled case yet")
        return [CaseFigures(**json.loads(file.read_text())) for file in files]

    def latencies(self, row: CaseFigures) -> pa.Table:
        """Operation, second and latency of every operation (deliveries: a sample) of a case."""
        name = case_name(row.system, row.clients, row.kind)
        return pq.read_table(self.folder / "travelled" / f"{name}.parquet")

    def trace(self) -> pa.Table | None:
        """The workload job's trace, where the journeys are one's."""
        path = self.folder / "trace.parquet"
        return pq.read_table(path) if path.exists() else None

    def keep_trace(self, trace: pa.Table) -> None:
        """Keep a trace: a plan that is continued, or checked, needs the same one."""
        new = self.folder / "trace.new"
        pq.write_table(trace, new, compression="zstd")
        new.replace(self.folder / "trace.parquet")

    def experiment(self, name: str) -> dict[str, Any] | None:
        """What an experiment beside the use case gave (`index`, `matching`), if it was run."""
        path = self.folder / f"{name}.json"
        found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
        return found

    def keep_experiment(self, name: str, figures: dict[str, Any]) -> None:
        """Keep what an experiment beside the use case gave."""
        (self.folder / f"{name}.json").write_text(json.dumps(figures, indent=2) + "\n")


def _latency_table(travelled: Travelled) -> pa.Table:
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


def figures(travelled: Travelled, agreement: Agreement | None, oracle: str) -> CaseFigures:
    """The figures of a case."""
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

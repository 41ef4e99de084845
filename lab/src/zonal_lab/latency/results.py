"""Echo results on disk: the lab's manifest, and one Parquet file of round trips per case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from zonal_lab.errors import PlanError
from zonal_lab.experiment.results import Results

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zonal_lab.latency.hosts import Echoes
    from zonal_lab.latency.plan import EchoCase, EchoPlan


class EchoResults(Results):
    """A folder of echoes: `echoes/<case>.parquet` with number and round trip (null: lost)."""

    def start(self, plan: EchoPlan) -> None:
        """Write the manifest; an existing one must be of the same plan, to be continued."""
        self.begin(cast("Any", plan))
        (self.folder / "echoes").mkdir(exist_ok=True)

    def has_case(self, case: EchoCase) -> bool:
        """Whether the case has already been run."""
        return (self.folder / "echoes" / f"{case.name}.parquet").exists()

    def keep(self, echoes: Echoes) -> None:
        """Keep what a case gave, whole or not at all."""
        case, count = echoes.case, len(echoes.rtt_ns)
        table = pa.table(
            {
                "scenario": pa.repeat(case.scenario, count),
                "stack": pa.repeat(case.stack, count),
                "round": pa.repeat(pa.scalar(case.round, pa.int16()), count),
                "number": pa.array(range(count), pa.int32()),
                "rtt_ns": pa.array(echoes.rtt_ns, pa.int64()),
                "near_bytes": pa.repeat(pa.scalar(echoes.near_bytes, pa.int64()), count),
                "near_cpu_s": pa.repeat(echoes.near_cpu_s, count),
            }
        )
        self._write("echoes", cast("Any", case), table)

    def echoes(self) -> pa.Table:
        """All echoes of all cases."""
        files = sorted((self.folder / "echoes").glob("*.parquet"))
        if not files:
            raise PlanError(f"{self.folder} holds no finished echoes yet")
        return pa.concat_tables([pq.read_table(file) for file in files])


def round_trips_ms(table: pa.Table, scenario: str, stack: str) -> tuple[NDArray[np.float64], int]:
    """The round trips of one stack in one scenario, and how many echoes were lost."""
    wanted = (table["scenario"].to_numpy() == scenario) & (table["stack"].to_numpy() == stack)
    column = table.filter(wanted)["rtt_ns"]
    return column.drop_null().to_numpy() / 1e6, column.null_count

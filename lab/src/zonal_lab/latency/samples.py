"""The raw samples of a case: one row an echo, with its round trip."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zonal_lab.latency.hosts import Echoes

ECHOES = "echoes"
"""The kind of the raw samples in the results."""


def echo_table(echoes: Echoes) -> pa.Table:
    """Number and round trip of each echo (null: lost), and what the near end's card carried."""
    case, count = echoes.case, len(echoes.rtt_ns)
    return pa.table(
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


def round_trips_ms(table: pa.Table, scenario: str, stack: str) -> tuple[NDArray[np.float64], int]:
    """The round trips of one stack in one scenario, and how many echoes were lost."""
    wanted = (table["scenario"].to_numpy() == scenario) & (table["stack"].to_numpy() == stack)
    column = table.filter(wanted)["rtt_ns"]
    return column.drop_null().to_numpy() / 1e6, column.null_count

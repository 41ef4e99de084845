"""The raw samples of a case as tables: one row a message at a subscriber, one row a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from zonal_lab.location.wanted import is_wanted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zonal_lab.emulation import Node, Topology
    from zonal_lab.location.plan import LocationCase
    from zonal_lab.location.scene import SceneRun

SAMPLES, NODES = "samples", "nodes"
"""The kinds of raw samples in the results."""
KEPT_MESSAGES = 24_000
"""Of a case in which a subscriber expects more, so few are kept: see `sampling_interval`."""
CASE_COLUMNS = ("scenario", "transport", "cpu_percent", "technique", "round")
SAMPLE_SCHEMA = pa.schema(
    [
        ("scenario", pa.string()),
        ("transport", pa.string()),
        ("cpu_percent", pa.int16()),
        ("technique", pa.string()),
        ("round", pa.int16()),
        ("subscriber", pa.int16()),
        ("publisher", pa.int16()),
        ("number", pa.int64()),
        ("sent_us", pa.int64()),
        ("received_us", pa.int64()),
    ]
)


def _case_columns(case: LocationCase, rows: int) -> dict[str, pa.Array]:
    return {
        name: pa.repeat(pa.scalar(getattr(case, name), SAMPLE_SCHEMA.field(name).type), rows)
        for name in CASE_COLUMNS
    }


def sampling_interval(run: SceneRun, topology: Topology) -> int:
    """Of so many messages one is kept, counted by the publisher's numbers; mostly 1.

    It is odd, since publishers that roam do so over 1 or 64 places: none is left out.
    """
    measured = (node for node in topology.with_role("subscriber") if node.measured)
    most = max((_expected(run, topology, node, 1) for node in measured), default=0)
    return -(-most // KEPT_MESSAGES) | 1


def sample_table(run: SceneRun, topology: Topology) -> pa.Table:
    """One row a wanted message, of every subscriber that is measured; of very many, some.

    The others' are most of all messages where they hear a busy publisher, and in no figure.
    """
    interval = sampling_interval(run, topology)
    kept = [
        np.column_stack([np.full(len(rows), subscriber), rows])
        for subscriber, all_rows in run.messages.items()
        if topology[subscriber].measured
        for rows in [_for_sure(topology, subscriber, all_rows[all_rows[:, 1] % interval == 0])]
    ]
    rows = np.concatenate(kept) if kept else np.zeros((0, 5), dtype=np.int64)
    columns: dict[str, Any] = _case_columns(run.case, len(rows))
    for index, name in enumerate(("subscriber", "publisher", "number")):
        columns[name] = pa.array(rows[:, index]).cast(SAMPLE_SCHEMA.field(name).type)
    # To the microsecond, from the first message on: enough, and small enough to be kept.
    begun = int(rows[:, 3].min()) if len(rows) else 0
    for index, name in ((3, "sent_us"), (4, "received_us")):
        columns[name] = pa.array((rows[:, index] - begun + 500) // 1000)
    return pa.table(columns, schema=SAMPLE_SCHEMA)


def _for_sure(topology: Topology, subscriber: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those that a subscriber wants without doubt; of one that rests, all that it got."""
    if not topology[subscriber].moves or not len(rows):
        return rows
    sure = np.zeros(len(rows), dtype=np.bool_)
    for publisher in np.unique(rows[:, 0]).tolist():
        its = rows[:, 0] == publisher
        sure[its] = is_wanted(topology, topology[subscriber], topology[publisher], rows[its, 1])
    return rows[sure]


def _expected(run: SceneRun, topology: Topology, node: Node, interval: int) -> int:
    """How many messages a node wants (for sure), of those with a multiple of an interval."""
    expected = 0
    for publisher in topology.with_role("publisher"):
        numbers = np.arange(0, run.sent[publisher.id], interval)
        expected += int(np.count_nonzero(is_wanted(topology, node, publisher, numbers)))
    return expected


def node_table(run: SceneRun, topology: Topology) -> pa.Table:
    """One row a node: what its card carried, its processor used and its session received."""
    interval = sampling_interval(run, topology)
    rows = [
        {
            "node": node.id,
            "role": node.role,
            "measured": node.measured,
            "seconds": run.seconds,
            **{name: float(value) for name, value in run.nodes[node.id].items()},
            "sent": run.sent.get(node.id, 0),
            "expected": _expected(run, topology, node, 1),
            "interval": interval,
            "sampled": _expected(run, topology, node, interval),
            "received": run.received.get(node.id, 0),
            "unwanted": run.unwanted.get(node.id, 0),
            "kept": len(run.messages.get(node.id, ())),
            "late_mean_us": run.pace.get(node.id, {}).get("late_mean_us", 0.0),
            "late_p99_us": run.pace.get(node.id, {}).get("late_p99_us", 0.0),
            "load": run.load,
            "notes": "; ".join(run.notes),
        }
        for node in topology.nodes
    ]
    table = pa.Table.from_pylist(rows)
    for index, (name, column) in enumerate(_case_columns(run.case, len(rows)).items()):
        table = table.add_column(index, name, column)
    return table


def count_distinct(numbers: NDArray[np.int64]) -> int:
    """How many different ones these are, which are nearly in order, as messages arrive."""
    ordered = np.sort(numbers, kind="stable")
    return int(np.count_nonzero(np.diff(ordered))) + bool(len(ordered))

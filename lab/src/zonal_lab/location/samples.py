"""The raw samples of a case as tables: one row a message at a subscriber, one row a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from zonal_lab.location.plan import LocationCase
from zonal_lab.location.wanted import first_wanted, in_motion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zonal_lab.emulation import Node, Topology
    from zonal_lab.location.plan import LocationPlan
    from zonal_lab.location.scene import SceneRun

SAMPLES, NODES = "samples", "nodes"
"""The kinds of raw samples in the results."""
ROWS_OF_A_PLAN = 1_000_000
"""Of all cases together so few are kept, of at most six bytes: three quarters of a page's limit."""
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


def rows_of_a_case(plan: LocationPlan) -> int:
    """How many messages of each case are kept at most, so that any plan's fit beside a page."""
    cases = sum(isinstance(each, LocationCase) for each in plan.cases())
    return max(ROWS_OF_A_PLAN // max(cases, 1), 1)


def sampling_interval(run: SceneRun, topology: Topology, rows: int) -> int:
    """Of so many messages one is kept, counted by the publisher's numbers, so that rows suffice.

    It is odd, since publishers that roam do so over 1 or 64 places: none is left out.
    """
    measured = (node for node in topology.with_role("subscriber") if node.measured)
    expected = sum(_expected(run, topology, node, 1) for node in measured)
    return max(-(-expected // rows), 1) | 1


def sample_table(run: SceneRun, topology: Topology, interval: int) -> pa.Table:
    """One row a wanted message, of every subscriber that is measured; of an interval, one.

    The others' are most of all messages where they hear a busy publisher, and in no figure.
    """
    kept = [
        np.column_stack([np.full(len(rows), subscriber), rows])
        for subscriber, all_rows in run.messages.items()
        if topology[subscriber].measured
        for rows in [_for_sure(run, topology, subscriber, all_rows[all_rows[:, 1] % interval == 0])]
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


def _for_sure(
    run: SceneRun, topology: Topology, subscriber: int, rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Those that a subscriber wants without doubt; where nobody moves, all that it got."""
    sure = np.ones(len(rows), dtype=np.bool_)
    for publisher in np.unique(rows[:, 0]).tolist():
        if not in_motion(topology[subscriber], topology[publisher]):
            continue
        its, sent = rows[:, 0] == publisher, run.sent[publisher]
        wanted = first_wanted(topology, topology[subscriber], topology[publisher], sent)
        sure[its] = wanted[rows[its, 1]]
    return rows[sure]


def _expected(run: SceneRun, topology: Topology, node: Node, interval: int) -> int:
    """How many messages a subscriber wants (for sure), of those with a multiple of an interval.

    Of a publisher: how many of its messages those that are measured want, all together.
    """
    subscribers, publishers = topology.with_role("subscriber"), topology.with_role("publisher")
    if node.role == "publisher":
        pairs = [(each, node) for each in subscribers if each.measured]
    else:
        pairs = [(node, each) for each in publishers if node.role == "subscriber"]
    return sum(
        int(np.count_nonzero(first_wanted(topology, *pair, run.sent[pair[1].id])[::interval]))
        for pair in pairs
    )


def _doubles(run: SceneRun, node: Node) -> int:
    """How many of the messages that users got they had got before."""
    rows = run.messages.get(node.id)
    if rows is None or not len(rows):
        return 0
    return len(rows) - count_distinct(rows[:, 0] << 36 | rows[:, 1])


def node_table(run: SceneRun, topology: Topology, interval: int) -> pa.Table:
    """One row a node: what its card carried, its processor used and its session received."""
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
            "doubles": _doubles(run, node),
            "way": node.way,
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

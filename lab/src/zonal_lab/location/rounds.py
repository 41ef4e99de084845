"""The figures of every round by itself, from which claims draw."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from zonal_lab.location.samples import (
    CASE_COLUMNS,
    NODES,
    SAMPLE_SCHEMA,
    SAMPLES,
    count_distinct,
)
from zonal_lab.location.summary import Condition

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow as pa

    from zonal_lab.experiment import Results


@dataclass(frozen=True)
class RoundFigures:
    """One round of one technique: the mean of its measured subscribers, and what went in vain."""

    mean_ms: float
    std_ms: float
    throughput_hz: float
    loss: float
    unwanted: int
    """Messages that reached a session and are not from its area."""
    astray: int
    """… that reached a session to which no message of the run belongs."""
    for_others: int
    """Messages × sessions whose area they are not from."""
    delivered: int
    """Messages that users got, of all sessions."""
    busiest_mbit: float
    """What the busiest router sent, in Mbit/s."""


class Rounds:
    """The figures of all rounds by condition and technique."""

    def __init__(self, results: Results) -> None:
        self._rows: dict[tuple[Condition, str], list[RoundFigures]] = defaultdict(list)
        self._first: dict[tuple[Condition, str], list[RoundFigures]] = defaultdict(list)
        shortest = results.manifest()["plan"].get("variant_seconds")
        for name, nodes in nodes_by_case(results).items():
            samples = samples_of(results, name)
            first = nodes[0]
            key = Condition(first["scenario"], first["transport"], first["cpu_percent"])
            whole = _figures(samples, nodes, first["seconds"])
            self._rows[key, first["technique"]].append(whole)
            seconds = min(shortest or first["seconds"], first["seconds"])
            beginning = whole if seconds == first["seconds"] else _figures(samples, nodes, seconds)
            self._first[key, first["technique"]].append(beginning)

    def of(self, condition: Condition, technique: str, name: str) -> list[float]:
        """A figure of every round; a `LookupError` where there is none."""
        return [getattr(each, name) for each in self._rows[condition, technique]]

    def beginning(self, condition: Condition, technique: str, name: str) -> list[float]:
        """… of the first seconds that all conditions have, so that they can be compared."""
        return [getattr(each, name) for each in self._first[condition, technique]]

    def all_rounds(self, scenarios: Collection[str], technique: str, name: str) -> list[float]:
        """A figure of every round of these scenarios, under every condition.

        A `LookupError` where one of the scenarios was not run.
        """
        found = {
            condition: rows
            for (condition, mine), rows in self._rows.items()
            if mine == technique and condition.scenario in scenarios
        }
        missing = set(scenarios) - {condition.scenario for condition in found}
        if missing:
            raise LookupError(", ".join(sorted(missing)))
        return [getattr(each, name) for rows in found.values() for each in rows]


def samples_of(results: Results, case: str) -> pa.Table:
    """The kept messages of a case; where no message came at all, nothing was kept."""
    path = results.folder / SAMPLES / f"{case}.parquet"
    return pq.read_table(path) if path.exists() else SAMPLE_SCHEMA.empty_table()


def nodes_by_case(results: Results) -> dict[str, list[dict[str, Any]]]:
    """The rows of the nodes of each case, by its name."""
    try:
        rows = results.table(NODES).to_pylist()
    except ValueError:  # no case but the false positives was run
        return {}
    cases: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        scenario, transport, cpu, technique, number = (row[name] for name in CASE_COLUMNS)
        cases[f"{scenario}-{transport}-{cpu}-{technique}-{number}"].append(row)
    return cases


def _figures(samples: pa.Table, nodes: list[dict[str, Any]], seconds: float) -> RoundFigures:
    measured = [n for n in nodes if n["measured"]]
    names = ("subscriber", "publisher", "number", "sent_us", "received_us")
    columns = {name: samples[name].to_numpy() for name in names}
    begun = columns["sent_us"].min() if len(samples) else 0
    due = columns["sent_us"] < begun + seconds * 1e6
    share = seconds / float(nodes[0]["seconds"])
    rows = []
    for node in measured:
        mine = due & (columns["subscriber"] == node["node"])
        interval = node.get("interval", 1)
        expected = float(node.get("sampled", node["expected"])) * share
        rows.append(_one({name: each[mine] for name, each in columns.items()}, expected, interval))
    sent = sum(int(n["sent"]) for n in nodes)
    subscribers = [n for n in nodes if n["role"] == "subscriber"]
    means = np.nanmean(np.array(rows, dtype=np.float64), axis=0) if rows else np.zeros(4)
    mean_ms, std_ms, rate, loss = (float(each) for each in means)
    return RoundFigures(
        mean_ms,
        std_ms,
        rate,
        loss,
        unwanted=sum(int(n["received"]) - int(n["kept"]) for n in subscribers),
        astray=sum(int(n["received"]) for n in subscribers if not n["expected"]),
        delivered=sum(int(n["kept"]) for n in subscribers),
        for_others=sum(sent - int(n["expected"]) for n in subscribers),
        busiest_mbit=max(
            (n["sent_bytes"] * 8e-6 / n["seconds"] for n in nodes if n["role"] == "router"),
            default=0.0,
        ),
    )


def _one(
    mine: dict[str, np.ndarray], expected: float, interval: int
) -> tuple[float, float, float, float]:
    """Mean, deviation, throughput (Visotto 2023, equation 7.2) and loss of one subscriber.

    `expected`: of the messages that are kept, one in each `interval`.
    """
    took = (mine["received_us"] - mine["sent_us"]) / 1e3
    if not len(took):
        return np.nan, np.nan, 0.0, 1.0
    span_s = (mine["received_us"].max() - mine["received_us"].min()) / 1e6
    distinct = count_distinct(mine["publisher"].astype(np.int64) << 36 | mine["number"])
    rate = len(took) * interval / span_s if span_s > 0 else 0.0
    loss = max(1 - distinct / expected, 0.0) if expected else 0.0
    return float(took.mean()), float(took.std()), rate, loss

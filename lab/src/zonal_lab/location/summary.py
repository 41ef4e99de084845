"""From raw samples to the figures of a report: latency, deviation, throughput, loss, bytes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zonal_lab.errors import PlanError
from zonal_lab.location.samples import CASE_COLUMNS, NODES, SAMPLES, count_distinct

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from zonal_lab.experiment import Results


class Condition(NamedTuple):
    """What all techniques had in common."""

    scenario: str
    transport: str
    cpu_percent: int

    @property
    def title(self) -> str:
        """For people: near-field, TCP, routers at 20 %."""
        return f"{self.scenario}, {self.transport.upper()}, routers at {self.cpu_percent} % CPU"

    @property
    def slug(self) -> str:
        """For file names."""
        return f"{self.scenario}-{self.transport}-{self.cpu_percent}"


@dataclass(frozen=True)
class SubscriberFigures:
    """One subscriber under one condition with one technique, over all rounds."""

    scenario: str
    transport: str
    cpu_percent: int
    technique: str
    subscriber: int
    rounds: int
    messages: int
    expected: int
    doubles: int
    mean_ms: float
    std_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    throughput_hz: float

    @property
    def loss(self) -> float:
        """The share of expected messages that never came; of those that are kept, as both are."""
        return 1 - (self.messages - self.doubles) / self.expected if self.expected else 0.0


@dataclass(frozen=True)
class Totals:
    """The three measured subscribers together, with what it cost the network."""

    mean_ms: float
    std_ms: float
    p99_ms: float
    throughput_hz: float
    loss: float
    doubles: int
    unwanted: int
    busiest_mbit: float
    router_mbit: float
    router_cpu: float


class Summary:
    """All figures of an evaluation, by condition and technique."""

    def __init__(
        self, rows: list[SubscriberFigures], nodes: pa.Table, computed_by: str = "this process"
    ) -> None:
        self.rows = rows
        self.computed_by = computed_by
        self._nodes = nodes.to_pylist()
        self.interval = max((node.get("interval", 1) for node in self._nodes), default=1)
        """In the case with the most messages one of so many is kept."""

    def conditions(self) -> list[Condition]:
        """The conditions, in the order of Visotto 2023."""
        order = {"zoning": 0, "near-field": 1, "far-field": 2, "spread": 3, "moving": 4}
        found = {Condition(row.scenario, row.transport, row.cpu_percent) for row in self.rows}
        return sorted(found, key=lambda c: (order.get(c.scenario, 9), c.transport, -c.cpu_percent))

    def of(self, condition: Condition, technique: str) -> list[SubscriberFigures]:
        """The measured subscribers' rows."""
        return [
            row
            for row in self.rows
            if (row.scenario, row.transport, row.cpu_percent) == condition
            and row.technique == technique
        ]

    def totals(self, condition: Condition, technique: str) -> Totals | None:
        """The measured subscribers together; None where nothing was run."""
        rows = self.of(condition, technique)
        nodes = [
            node
            for node in self._nodes
            if (node["scenario"], node["transport"], node["cpu_percent"]) == condition
            and node["technique"] == technique
        ]
        if not rows or not nodes:
            return None
        unwanted = sum(n["received"] - n["kept"] for n in nodes if n["role"] == "subscriber")
        routers = [n for n in nodes if n["role"] == "router"]
        seconds = sum({n["round"]: n["seconds"] for n in nodes}.values())
        sent: dict[int, float] = defaultdict(float)
        for node in routers:
            sent[node["node"]] += node["sent_bytes"]
        return Totals(
            mean_ms=float(np.mean([row.mean_ms for row in rows])),
            std_ms=float(np.mean([row.std_ms for row in rows])),
            p99_ms=float(np.mean([row.p99_ms for row in rows])),
            throughput_hz=float(np.mean([row.throughput_hz for row in rows])),
            loss=float(np.mean([row.loss for row in rows])),
            doubles=sum(row.doubles for row in rows),
            unwanted=int(unwanted),
            busiest_mbit=max(sent.values()) * 8 / seconds / 1e6,
            router_mbit=sum(sent.values()) * 8 / seconds / 1e6,
            router_cpu=sum(n["cpu_seconds"] for n in routers) / seconds,
        )

    def for_others(self, technique: str) -> int:
        """Messages that concern some subscriber not, counted once for each such subscriber."""
        sent: dict[tuple[Any, ...], int] = defaultdict(int)
        wanted: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for node in self._nodes:
            if node["technique"] == technique:
                case = tuple(node[name] for name in CASE_COLUMNS)
                sent[case] += node["sent"]
                if node["role"] == "subscriber":
                    wanted[case].append(node["expected"])
        return sum(sent[case] - each for case, mine in wanted.items() for each in mine)

    def load(self, condition: Condition) -> tuple[float, float]:
        """The machine's lowest and highest load while this condition was run."""
        loads = [
            node["load"]
            for node in self._nodes
            if (node["scenario"], node["transport"], node["cpu_percent"]) == condition
        ]
        return min(loads), max(loads)

    def table(self) -> pa.Table:
        """The rows as a table."""
        return pa.Table.from_pylist([{**asdict(row), "loss": row.loss} for row in self.rows])


def summarize(results: Results) -> Summary:
    """Compute the figures of all finished runs."""
    nodes = results.table(NODES)
    grouped: dict[str, list[Path]] = defaultdict(list)
    for path in results.samples(SAMPLES):
        grouped[path.stem.rpartition("-")[0]].append(path)  # all rounds of a technique together
    sampled, measured = sampled_messages(nodes), measured_subscribers(nodes)
    rows = [
        figures
        for paths in grouped.values()
        for figures in _figures(pq.read_table(paths), sampled)
        if figures.subscriber in measured[figures.scenario]
    ]
    return Summary(rows, nodes)


def measured_subscribers(nodes: pa.Table) -> dict[str, set[int]]:
    """The subscribers of each scenario whose latency is measured, as in Visotto 2023."""
    measured: dict[str, set[int]] = defaultdict(set)
    for node in nodes.to_pylist():
        if node["measured"]:
            measured[node["scenario"]].add(node["node"])
    return measured


def greatest_difference_ms(one: Summary, other: Summary) -> float:
    """By how much the latencies of two summaries of the same runs differ at most."""
    mine, theirs = ({_key(row): row for row in each.rows} for each in (one, other))
    if mine.keys() != theirs.keys():
        raise PlanError("the two summaries are not of the same runs")
    names = ("mean_ms", "std_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms")
    pairs = (
        (getattr(mine[key], name), getattr(theirs[key], name)) for key in mine for name in names
    )
    return max((abs(a - b) for a, b in pairs), default=0.0)


def _key(row: SubscriberFigures) -> Key:
    return row.scenario, row.transport, row.cpu_percent, row.technique, row.subscriber


Key = tuple[str, str, int, str, int]
_IDENTITY = ("subscriber", "round", "publisher", "number")


class Sampled(NamedTuple):
    """How many messages of a subscriber could be kept, and one of how many that is."""

    expected: int
    interval: int


def sampled_messages(nodes: pa.Table) -> dict[Key, Sampled]:
    """How many kept messages each subscriber should have got, all rounds together."""
    total: dict[Key, Sampled] = {}
    for node in nodes.to_pylist():
        if node["role"] == "subscriber":
            conditions = (node["scenario"], node["transport"], node["cpu_percent"])
            key = (*conditions, node["technique"], node["node"])
            before = total[key].expected if key in total else 0
            expected = before + node.get("sampled", node["expected"])
            total[key] = Sampled(expected, node.get("interval", 1))
    return total


def doubled_messages(results: Results) -> dict[Key, int]:
    """How many messages came more than once, by subscriber."""
    doubled: dict[Key, int] = defaultdict(int)
    for path in results.samples(SAMPLES):
        columns_read = [*CASE_COLUMNS, *_IDENTITY[:1], *_IDENTITY[2:]]
        table = pq.read_table(path, columns=columns_read)
        if table.num_rows == 0:
            continue
        scenario, transport, cpu, technique, _ = (table[name][0].as_py() for name in CASE_COLUMNS)
        columns = {name: table[name].to_numpy() for name in _IDENTITY}
        for subscriber in np.unique(columns["subscriber"]).tolist():
            chosen = columns["subscriber"] == subscriber
            key = (scenario, transport, cpu, technique, subscriber)
            mine = {name: column[chosen] for name, column in columns.items()}
            doubled[key] += len(mine["number"]) - _distinct(mine)
    return doubled


def _figures(samples: pa.Table, sampled: dict[Key, Sampled]) -> list[SubscriberFigures]:
    if samples.num_rows == 0:
        return []
    first = samples.slice(0, 1).to_pylist()[0]
    scenario, transport, cpu, technique = (first[name] for name in CASE_COLUMNS[:4])
    columns = {
        name: samples[name].to_numpy()
        for name in ("round", "subscriber", "publisher", "number", "sent_us", "received_us")
    }
    rows = []
    for subscriber in np.unique(columns["subscriber"]).tolist():
        chosen = columns["subscriber"] == subscriber
        mine = {name: column[chosen] for name, column in columns.items()}
        key = (scenario, transport, cpu, technique, subscriber)
        rows.append(_figures_of(key, mine, sampled[key]))
    return rows


def _figures_of(
    key: Key, mine: dict[str, NDArray[np.int64]], sampled: Sampled
) -> SubscriberFigures:
    latency_ms = (mine["received_us"] - mine["sent_us"]) / 1e3
    p50, p95, p99 = np.percentile(latency_ms, [50, 95, 99])
    return SubscriberFigures(
        *key,
        rounds=len(np.unique(mine["round"])),
        messages=len(latency_ms),
        expected=sampled.expected,
        doubles=len(latency_ms) - _distinct(mine),
        mean_ms=float(latency_ms.mean()),
        std_ms=float(latency_ms.std()),
        p50_ms=float(p50),
        p95_ms=float(p95),
        p99_ms=float(p99),
        max_ms=float(latency_ms.max()),
        throughput_hz=_throughput(mine["round"], mine["received_us"]) * sampled.interval,
    )


def _distinct(mine: dict[str, NDArray[np.int64]]) -> int:
    """How many different messages these are: one number for round, publisher and number."""
    numbers = mine["round"].astype(np.int64) << 48 | mine["publisher"].astype(np.int64) << 36
    return count_distinct(numbers | mine["number"])


def _throughput(rounds: NDArray[np.int64], received_us: NDArray[np.int64]) -> float:
    """Messages over the time from first to last (Visotto 2023, equation 7.2), mean of rounds."""
    rates = []
    for number in np.unique(rounds):
        times = received_us[rounds == number]
        span_s = (times.max() - times.min()) / 1e6
        if span_s > 0:
            rates.append(len(times) / span_s)
    return float(np.mean(rates)) if rates else 0.0

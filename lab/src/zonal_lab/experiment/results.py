"""Results on disk: a manifest, one Parquet file of raw samples per run, and counts per node.

```
<folder>/manifest.json        what ran: plan, commit, seed, kernel, processor, versions, command
<folder>/samples/<case>.parquet   one row a wanted message at a subscriber
<folder>/nodes/<case>.parquet     one row a node: bytes, packets, processor time, messages
```
A case's files appear whole or not at all, so a stopped evaluation can be continued and reported.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zonal_lab.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from zonal_lab.emulation.topology import Topology
    from zonal_lab.location.bloom_table import BloomRow
    from zonal_lab.location.plan import Case, Plan
    from zonal_lab.location.scene import Outcome

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
        ("sent_ns", pa.int64()),
        ("received_ns", pa.int64()),
    ]
)


class Results:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, plan: Plan) -> None:
        """Write the manifest; an existing one must be of the same plan, to be continued."""
        for each in ("samples", "nodes"):
            (self.folder / each).mkdir(parents=True, exist_ok=True)
        path = self.folder / "manifest.json"
        planned = json.loads(json.dumps(asdict(plan)))
        if path.exists():
            if self.manifest()["plan"] != planned:
                raise PlanError(f"{self.folder} holds results of another plan; name another folder")
            return
        path.write_text(json.dumps({"plan": planned, **manifest()}, indent=2) + "\n")

    def manifest(self) -> dict[str, Any]:
        """The manifest, as read back."""
        path = self.folder / "manifest.json"
        if not path.exists():
            raise PlanError(f"{self.folder} holds no results: manifest.json is missing")
        entry: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return entry

    def note(self, **details: Any) -> None:
        """Add to the manifest."""
        path = self.folder / "manifest.json"
        path.write_text(json.dumps({**self.manifest(), **details}, indent=2) + "\n")

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Add to the minutes that the plan has taken, also when it is interrupted."""
        begun = time.monotonic()
        try:
            yield
        finally:
            before = self.manifest().get("minutes", 0.0)
            self.note(minutes=round(before + (time.monotonic() - begun) / 60, 1))

    def has(self, case: Case) -> bool:
        """Whether the case has already been run."""
        return (self.folder / "nodes" / f"{case.name}.parquet").exists()

    def add(self, outcome: Outcome, topology: Topology) -> None:
        """Keep what a case gave; the nodes' file last, it says that all is there."""
        self._write("samples", outcome.case, sample_table(outcome))
        self._write("nodes", outcome.case, node_table(outcome, topology))

    def _write(self, kind: str, case: Case, table: pa.Table) -> None:
        path = self.folder / kind / f"{case.name}.parquet"
        new = path.with_suffix(".new")
        pq.write_table(table, new, compression="zstd")
        new.replace(path)

    def add_bloom_table(self, rows: Sequence[BloomRow]) -> None:
        """Keep the experiment on false positives."""
        text = json.dumps([asdict(row) for row in rows], indent=2)
        (self.folder / "bloom.json").write_text(text + "\n", encoding="utf-8")

    def bloom_table(self) -> list[dict[str, Any]]:
        """The experiment on false positives, as read back; empty where it was not run."""
        path = self.folder / "bloom.json"
        rows: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
        return rows

    def samples(self) -> list[Path]:
        """The files of raw samples of all finished cases."""
        finished = {path.name for path in (self.folder / "nodes").glob("*.parquet")}
        files = sorted((self.folder / "samples").glob("*.parquet"))
        return [path for path in files if path.name in finished]

    def rows(self) -> int:
        """How many raw samples there are."""
        return sum(pq.read_metadata(path).num_rows for path in self.samples())

    def nodes(self) -> pa.Table:
        """The counts of all nodes in all cases."""
        files = sorted((self.folder / "nodes").glob("*.parquet"))
        if not files:
            raise PlanError(f"{self.folder} holds no finished run yet")
        return pa.concat_tables([pq.read_table(file) for file in files])


def _case_columns(case: Case, rows: int) -> dict[str, pa.Array]:
    return {
        name: pa.repeat(pa.scalar(getattr(case, name), SAMPLE_SCHEMA.field(name).type), rows)
        for name in CASE_COLUMNS
    }


def sample_table(outcome: Outcome) -> pa.Table:
    """One row a wanted message, of every subscriber."""
    kept = [
        np.column_stack([np.full(len(rows), subscriber), rows])
        for subscriber, rows in outcome.messages.items()
    ]
    rows = np.concatenate(kept) if kept else np.zeros((0, 5), dtype=np.int64)
    columns: dict[str, Any] = _case_columns(outcome.case, len(rows))
    for index, name in enumerate(("subscriber", "publisher", "number", "sent_ns", "received_ns")):
        columns[name] = pa.array(rows[:, index]).cast(SAMPLE_SCHEMA.field(name).type)
    return pa.table(columns, schema=SAMPLE_SCHEMA)


def node_table(outcome: Outcome, topology: Topology) -> pa.Table:
    """One row a node: what its card carried, its processor used and its session received."""
    rows = []
    for node in topology.nodes:
        expected = sum(
            outcome.sent[publisher.id]
            for publisher in topology.with_role("publisher")
            if topology.wants(node, publisher)
        )
        rows.append(
            {
                "node": node.id,
                "role": node.role,
                "measured": node.measured,
                "seconds": outcome.seconds,
                **{name: float(value) for name, value in outcome.nodes[node.id].items()},
                "sent": outcome.sent.get(node.id, 0),
                "expected": expected,
                "received": outcome.received.get(node.id, 0),
                "unwanted": outcome.unwanted.get(node.id, 0),
                "kept": len(outcome.messages.get(node.id, ())),
                "late_mean_us": outcome.pace.get(node.id, {}).get("late_mean_us", 0.0),
                "late_p99_us": outcome.pace.get(node.id, {}).get("late_p99_us", 0.0),
                "load": outcome.load,
                "notes": "; ".join(outcome.notes),
            }
        )
    table = pa.Table.from_pylist(rows)
    for index, (name, column) in enumerate(_case_columns(outcome.case, len(rows)).items()):
        table = table.add_column(index, name, column)
    return table


def manifest() -> dict[str, Any]:
    """What must be known to repeat a result."""
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": ["zonal", *map(_portable, sys.argv[1:])],
        "commit": _commit(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "python": platform.python_version(),
        "versions": {
            name: _version(name) for name in ("zonal", "eclipse-zenoh", "numpy", "pyarrow")
        },
    }


def _portable(argument: str) -> str:
    """An argument without the folders of this machine, which tell nobody else anything."""
    path = Path(argument)
    return path.name if path.is_absolute() else argument


def _commit() -> str:
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],  # noqa: S607 - git of the PATH
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
            cwd=Path(__file__).parent,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"

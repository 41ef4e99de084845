"""Results on disk: a manifest, and for each case its figures and its raw samples.

```
<folder>/manifest.json          what ran, on what; see `manifest`
<folder>/cases/<case>.json      the case, the machine's load after it, its figures
<folder>/<kind>/<case>.parquet  its raw samples, one folder for each kind
```
A case's figures are written last and appear whole or not at all: they say that all of the case is
there. So a run that was stopped can be continued, and reported meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from zonal_lab.errors import PlanError
from zonal_lab.experiment.manifest import commit_of_code, manifest_of_now

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from zonal_lab.experiment.plan import Case, Plan
    from zonal_lab.experiment.trial import Outcome


@dataclass(frozen=True)
class Record:
    """A finished case as it is stored."""

    name: str
    case: dict[str, Any]
    load: float
    figures: dict[str, Any]


class Results:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # ---- the manifest ---------------------------------------------------------------------

    def begin(self, experiment: str, plan: Plan) -> None:
        """Write the manifest; an existing one must be of an equal plan, to be continued."""
        (self.folder / "cases").mkdir(parents=True, exist_ok=True)
        planned = json.loads(json.dumps(asdict(plan)))
        if not self._manifest.exists():
            now = manifest_of_now()
            self._write_manifest(
                {"experiment": experiment, "plan": planned, "seed": plan.seed, "data": {}, **now}
            )
            return
        before = self.manifest()
        if (before["experiment"], before["plan"]) != (experiment, planned):
            raise PlanError(f"{self.folder} holds results of another plan; name another folder")
        commits = [before["commit"], *before.get("continued_by", [])]
        if (now_commit := commit_of_code()[0]) not in commits:
            self.note(continued_by=[*commits[1:], now_commit])

    @property
    def _manifest(self) -> Path:
        return self.folder / "manifest.json"

    def manifest(self) -> dict[str, Any]:
        """The manifest, as read back; a `PlanError` where there is none."""
        if not self._manifest.exists():
            raise PlanError(f"{self.folder} holds no results: manifest.json is missing")
        entry: dict[str, Any] = json.loads(self._manifest.read_text(encoding="utf-8"))
        return entry

    def _write_manifest(self, entry: dict[str, Any]) -> None:
        text = json.dumps(entry, indent=2, ensure_ascii=False) + "\n"
        self._manifest.write_text(text, encoding="utf-8")

    def note(self, **details: Any) -> None:
        """Add to the manifest."""
        self._write_manifest({**self.manifest(), **details})

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Add to the minutes that the plan has taken, also when it is interrupted."""
        begun = time.monotonic()
        try:
            yield
        finally:
            before = self.manifest().get("minutes", 0.0)
            self.note(minutes=round(before + (time.monotonic() - begun) / 60, 1))

    # ---- cases ----------------------------------------------------------------------------

    def _record(self, name: str) -> Path:
        return self.folder / "cases" / f"{name}.json"

    def has(self, case: Case) -> bool:
        """Whether the case has already been run."""
        return self._record(case.name).exists()

    def add(self, case: Case, outcome: Outcome) -> None:
        """Keep what a case gave: its tables, then its figures."""
        import pyarrow.parquet as pq

        for kind, table in outcome.tables.items():
            path = self.folder / kind / f"{case.name}.parquet"
            path.parent.mkdir(exist_ok=True)
            new = path.with_suffix(".new")
            pq.write_table(table, new, compression="zstd")
            new.replace(path)
        kept = Record(case.name, asdict(case), round(os.getloadavg()[0], 1), dict(outcome.figures))
        new = self._record(case.name).with_suffix(".new")
        new.write_text(json.dumps(asdict(kept), indent=1) + "\n", encoding="utf-8")
        new.replace(self._record(case.name))

    def records(self) -> list[Record]:
        """All finished cases, by name; a `PlanError` when there is none."""
        files = sorted((self.folder / "cases").glob("*.json"))
        if not files:
            raise PlanError(f"{self.folder} holds no finished case yet")
        return [Record(**json.loads(file.read_text(encoding="utf-8"))) for file in files]

    def samples(self, kind: str) -> list[Path]:
        """The files of raw samples of one kind, of all finished cases that have some."""
        paths = (self.folder / kind / f"{record.name}.parquet" for record in self.records())
        return [path for path in paths if path.exists()]

    def table(self, kind: str) -> pa.Table:
        """All raw samples of one kind."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        files = self.samples(kind)
        if not files:
            raise PlanError(f"{self.folder} holds no {kind} yet")
        return pa.concat_tables([pq.read_table(file) for file in files])

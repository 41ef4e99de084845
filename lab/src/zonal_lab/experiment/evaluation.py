"""The folder of committed pages: makes all of them anew from what was kept, and checks them.

`docs/evaluation/<experiment>/<name>.md` is made from `<name>.data` beside it; there is no page
without such a folder. `README.md` collects every claim with its verdict.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zonal_lab.experiment.claims import LEAST_ROUNDS, OURS, Ruling
from zonal_lab.experiment.kept import SUFFIX, note, pack, read_manifest, unpack
from zonal_lab.experiment.pages import table, verdict_row
from zonal_lab.experiment.pictures import without_pictures
from zonal_lab.experiment.results import Results

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from zonal_lab.experiment.claims import Verdict
    from zonal_lab.experiment.experiment import Experiment
    from zonal_lab.experiment.results import Record

EVALUATION = Path("docs/evaluation")
_COMPARED = {".md", ".csv", ".json"}


@dataclass(frozen=True)
class KeptPage:
    """A page and the data that it is made from."""

    experiment: Experiment
    data: Path

    @property
    def name(self) -> str:
        """The page's name."""
        return self.data.name.removesuffix(SUFFIX)

    @property
    def page(self) -> Path:
        """The page."""
        return self.data.with_name(f"{self.name}.md")

    def make(self, folder: Path) -> PageRow:
        """Make the page anew in a folder."""
        with tempfile.TemporaryDirectory(prefix="zonal-lab-") as unpacked:
            results = unpack(self.data, Path(unpacked))
            verdicts = self.experiment.verdicts(results)
            self.experiment.report(results, folder, self.name, verdicts)
            return PageRow(self, results.manifest(), verdicts)


class PageRow(NamedTuple):
    """A page, the manifest of its run, and its verdicts."""

    page: KeptPage
    manifest: dict[str, Any]
    verdicts: list[Verdict]

    @property
    def link(self) -> str:
        """To the page, from the one with all verdicts."""
        return f"[{self.page.name}]({self.page.data.parent.name}/{self.page.page.name})"

    @property
    def run(self) -> str:
        """What was run, from which commit and when."""
        return f"{self.link}, {self.manifest['commit'][:7]}, {self.manifest['started'][:10]}"


class NoResults(Results):
    """Of an experiment of which nothing is kept: no case was run."""

    def records(self) -> list[Record]:
        """None."""
        return []


def kept_pages(root: Path, experiments: Iterable[Experiment]) -> list[KeptPage]:
    """All pages that have data, in the order of the experiments."""
    return [
        KeptPage(experiment, data)
        for experiment in experiments
        for data in sorted((root / experiment.name).glob(f"*{SUFFIX}"))
    ]


def keep(results: Results, experiment: Experiment, root: Path, name: str | None = None) -> Path:
    """Keep the data of results among the committed pages; the folder that holds it now."""
    data = root / experiment.name / f"{name or experiment.name}{SUFFIX}"
    pack(results, data)
    return data


def write_pages(root: Path, experiments: Sequence[Experiment]) -> list[Path]:
    """Make every page that has data anew, and the one with all verdicts; their paths."""
    pages = kept_pages(root, experiments)
    for each in pages:
        note(each.data, older=_is_older(each))
    rows = [each.make(each.data.parent) for each in pages]
    summary = root / "README.md"
    summary.write_text("\n".join(_summary(rows, experiments)) + "\n", encoding="utf-8")
    return [*(each.page for each in pages), summary]


def differences(root: Path, experiments: Sequence[Experiment]) -> Iterator[str]:
    """Whatever committed pages say other than their data; in words."""
    pages = kept_pages(root, experiments)
    rows = []
    for each in pages:
        with tempfile.TemporaryDirectory(prefix="zonal-lab-") as folder, without_pictures():
            made = Path(folder)
            rows.append(each.make(made))
            for new in sorted(made.iterdir()):
                if new.suffix in _COMPARED:
                    yield from _compared(each.data.parent / new.name, new.read_text("utf-8"))
    yield from _compared(root / "README.md", "\n".join(_summary(rows, experiments)) + "\n")
    made_of_data = {each.page for each in pages}
    for experiment in experiments:
        for page in sorted((root / experiment.name).glob("*.md")):
            if page not in made_of_data:
                yield f"{page} has no data"


def _compared(committed: Path, made: str) -> Iterator[str]:
    if not committed.exists():
        yield f"{committed} is missing"
        return
    before, now = committed.read_text(encoding="utf-8").splitlines(), made.splitlines()
    for number, (old, new) in enumerate(zip(before, now, strict=False), 1):
        if old != new:
            yield f"{committed}:{number} says\n  {old}\nits data says\n  {new}"
            return
    if len(before) != len(now):
        yield f"{committed} has {len(before)} lines, its data gives {len(now)}"


def _is_older(page: KeptPage) -> bool:
    """Whether the code was changed since; a commit that is unknown here is older."""
    commit = read_manifest(page.data)["commit"]
    compared = subprocess.run(  # noqa: S603 - a commit that we wrote
        ["git", "diff", "--quiet", commit, "--", ":/src", ":/lab/src"],  # noqa: S607 - git of the PATH
        capture_output=True,
        check=False,
        cwd=page.data,
    )
    return compared.returncode != 0


# ---- the page with all verdicts ---------------------------------------------------------------


def _summary(rows: Sequence[PageRow], experiments: Sequence[Experiment]) -> Iterator[str]:
    yield "# The evaluation"
    yield ""
    yield (
        "What was measured, and what became of every claim of the [five works](../references.md) "
        "that Zonal builds on, and of our own figures to reach. `zonal lab pages` makes this page "
        "and those below from the data beside them, `zonal lab verify` checks that no number "
        "differs. What the parts promise is in [the manual](../README.md), why they are as they "
        "are in [the decisions](../decisions/README.md). Numbers of different machines or days "
        "cannot be compared; ratios within one run can. How fast the parts are is on the pages of "
        "the [benchmarks](benchmarks/README.md)."
    )
    yield ""
    yield from _pages(rows)
    judged = _once(rows)
    measured = {row.page.experiment.name for row in rows}
    for experiment in experiments:
        if experiment.name not in measured:
            judged += [(each, f"{experiment.name}: not run") for each in _unmeasured(experiment)]
    yield from _counts([each for each, _ in judged])
    works = dict.fromkeys(each.claim.work for each, _ in judged)
    for work in sorted(works, key=lambda each: (each == OURS, each)):
        yield f"## {'Our own figures' if work == OURS else work}"
        yield ""
        yield from table(
            ("claim", "where", "theirs", "ours (95 % interval)", "verdict", "run"),
            ((*verdict_row(each), run) for each, run in judged if each.claim.work == work),
        )


def _once(rows: Sequence[PageRow]) -> list[tuple[Verdict, str]]:
    """Each claim once, with its run: of several that measured it the one that is worth most."""
    found: dict[tuple[str, str, str], tuple[Worth, Verdict, str]] = {}
    for row in rows:
        for each in row.verdicts:
            worth, key = _worth(row, each), _claim_of(row, each)
            if key not in found or worth > found[key][0]:
                found[key] = worth, each, row.run if each.value is not None else "–"
    return [(verdict, run) for _, verdict, run in found.values()]


class Worth(NamedTuple):
    """What a run's verdict on a claim is worth beside another run's: the first difference says."""

    measured: bool
    usual: bool
    """A run with `zenohd` as its routers is one set-up beside the usual one."""
    enough: bool
    """Rounds for an interval."""
    length: float
    """How long each case was measured: queues that fill need that more than rounds."""
    rounds: int
    started: str


def _worth(row: PageRow, verdict: Verdict) -> Worth:
    plan = row.manifest["plan"]
    return Worth(
        measured=verdict.value is not None,
        usual=plan.get("routers") != "zenohd",
        enough=verdict.claim.exact or verdict.rounds >= LEAST_ROUNDS,
        length=row.page.experiment.length(plan),
        rounds=verdict.rounds,
        started=row.manifest["started"],
    )


def _claim_of(row: PageRow, verdict: Verdict) -> tuple[str, str, str]:
    return row.page.experiment.name, verdict.claim.where, verdict.claim.text


def _unmeasured(experiment: Experiment) -> list[Verdict]:
    """The claims of an experiment that was not run: none can be told."""
    with tempfile.TemporaryDirectory(prefix="zonal-lab-") as folder:
        results = NoResults(Path(folder))
        results.begin(experiment.name, experiment.trial().plan)
        return experiment.verdicts(results)


def _pages(rows: Sequence[PageRow]) -> Iterator[str]:
    listed = [
        (
            row.link,
            row.page.experiment.title,
            f"{row.manifest['started'][:10]}, commit {row.manifest['commit'][:7]}"
            + (" (older than the code)" if row.manifest.get("older") else ""),
            f"[kept]({row.page.data.parent.name}/{row.page.data.name}/manifest.json)",
        )
        for row in rows
    ]
    yield from table(("page", "what", "run", "raw data"), listed)


def _counts(verdicts: Sequence[Verdict]) -> Iterator[str]:
    counts = Counter(each.ruling for each in verdicts)
    told = ", ".join(f"{counts[ruling]} {_PLURAL[ruling]}" for ruling in Ruling)
    yield (
        f"Of {len(verdicts)} claims {told}. A claim holds when all of the interval lies where it "
        "says, does not hold when none does, and cannot be told otherwise, with fewer than five "
        "rounds, or where nothing was measured. What several runs measured in five rounds or more "
        "is judged by the one that measured each case longest (in seconds, echoes, messages or "
        "samples), of equals by the one with the most rounds, then by the newest; runs with "
        "`zenohd` as the routers have their verdicts on their own pages."
    )
    yield ""


_PLURAL = {
    Ruling.HOLDS: "hold",
    Ruling.FAILS: "do not hold",
    Ruling.OPEN: "cannot be told",
}

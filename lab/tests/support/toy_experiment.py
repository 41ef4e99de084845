"""An experiment that needs nothing: cases that double a number, in two groups."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from zonal_lab.errors import EmulationError
from zonal_lab.experiment import Claim, Experiment, Outcome, Results, Trial, Unit


@dataclass(frozen=True)
class ToyCase:
    group: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.group}-{self.number}"


@dataclass(frozen=True)
class ToyPlan:
    count: int = 2
    seconds: float = 1.0
    seed: int = 5

    def cases(self) -> Iterator[ToyCase]:
        for group in ("a", "b"):
            for number in range(self.count):
                yield ToyCase(group, number)


@dataclass
class ToyTrial(Trial[ToyCase]):
    """`broken` names cases that fail, once for each time they are named."""

    plan: ToyPlan
    broken: list[str] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    emulates = False

    def prepare(self, results: Results) -> dict[str, str]:
        del results
        return {"numbers": "made up"}

    def group_of(self, case: ToyCase) -> str:
        return case.group

    @contextlib.contextmanager
    def stage(self, case: ToyCase) -> Iterator[Callable[[ToyCase], Outcome]]:
        self.stages.append(case.group)
        yield self._run

    def _run(self, case: ToyCase) -> Outcome:
        if case.name in self.broken:
            self.broken.remove(case.name)
            raise EmulationError("it broke")
        rows = pa.table({"value": [case.number, 2 * case.number]})
        return Outcome({"doubled": 2 * case.number}, {"values": rows})


def _trial(
    *,
    quick: Annotated[bool, typer.Option(help="one case")] = False,
    count: Annotated[int, typer.Option(help="cases of each group")] = 2,
) -> Trial[Any]:
    """Double numbers."""
    return ToyTrial(ToyPlan(1 if quick else count))


def _page(
    results: Results,
    folder: Path,
    name: str,
    *,
    loud: Annotated[bool, typer.Option(help="say it loudly")] = False,
) -> Iterator[str]:
    (folder / f"{name}.txt").write_text("beside the page")
    yield "DOUBLED" if loud else "doubled"
    yield ", ".join(str(record.figures["doubled"]) for record in results.records())


def _claims(results: Results) -> Iterator[Claim]:
    ratios = [
        record.figures["doubled"] / record.case["number"]
        for record in results.records()
        if record.case["number"]
    ]
    yield Claim("Toy 1999", "1", "numbers double", "× 2", Unit.TIMES,
                lambda draw: draw(ratios), least=2, most=2)  # fmt: skip


TOY = Experiment("toy", "Doubled numbers", _trial, _page, _claims, lambda plan: plan["seconds"])

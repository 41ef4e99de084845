"""Runs a trial into results: what they hold already is not run again, what fails is tried again."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from zonal_lab.errors import EmulationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal_lab.experiment.plan import Case
    from zonal_lab.experiment.results import Results
    from zonal_lab.experiment.trial import Trial

_TRIES = 2


def run_trial(
    name: str,
    trial: Trial[Any],
    results: Results,
    *,
    on_data: Callable[[str], None] = lambda _: None,
    on_case: Callable[[str, int], None] = lambda _name, _number: None,
) -> list[str]:
    """Run every case that the results lack, and note data, time and failures in the manifest.

    Cases of a group run on one stage. After a failure the stage is made anew for the cases that are
    left; those that failed are tried once more at the end of their group.

    Args:
        name: the experiment's.
        trial: what to run.
        results: where to.
        on_data: is told in words of each kind of data that is used.
        on_case: is told of each case before it runs, with its number in the plan (from 0).

    Returns:
        What failed, in words; a case that failed twice is in it twice, and not in the results.
    """
    results.begin(name, trial.plan)
    failures: list[str] = []
    with results.timed():
        data = dict(trial.prepare(results))
        results.note(data=data)
        for kind, words in data.items():
            on_data(f"{kind}: {words}")
        numbered = list(enumerate(trial.plan.cases()))
        for _, group in groupby(numbered, key=lambda each: trial.group_of(each[1])):
            planned = list(group)
            for _ in range(_TRIES):
                left = [(number, case) for number, case in planned if not results.has(case)]
                while left:
                    left = _run_until_failure(trial, left, results, on_case, failures)
    if failures:
        results.note(failures=failures)
    return failures


def _run_until_failure(
    trial: Trial[Any],
    cases: list[tuple[int, Case]],
    results: Results,
    on_case: Callable[[str, int], None],
    failures: list[str],
) -> list[tuple[int, Case]]:
    """Run cases on one stage until one fails; the ones after it come back."""
    running = cases[0][1]
    try:
        with trial.stage(running) as run:
            for number, case in cases:
                running = case
                on_case(case.name, number)
                results.add(case, run(case))
    except EmulationError as error:
        failures.append(f"{running.name}: {error}")
        return [each for each in cases if each[0] > _number_of(running, cases)]
    return []


def _number_of(wanted: Case, cases: list[tuple[int, Case]]) -> int:
    return next(number for number, case in cases if case is wanted)

"""`zonal lab run all`: every experiment by one plan, unattended; what is there is not run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zonal_lab.errors import LabError
from zonal_lab.experiment import Results, in_words
from zonal_lab.plans import plan_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from zonal_lab.experiment import Experiment, Trial

Into = Annotated[Path, typer.Option(help="folder of results, one for each experiment; continued")]
PlanName = Annotated[str, typer.Option("--plan", help="short, long or tiny")]
TAKEN_BY: dict[str, tuple[str, ...]] = {
    "traces": ("location", "latency"),
    "geolife": ("geobroker", "scale", "peers"),
    "capmetro": ("scale",),
    "programs": ("peers",),
    "trace": ("psvr",),
    "table": ("psvr",),
    "trajectories": ("psvr",),
}
"""Recorded data and programs by the option that names them, and the experiments that take them."""


def _given(name: str, what: str) -> Any:
    return typer.Option(help=f"{what}; for {', '.join(TAKEN_BY[name])}")


Traces = Annotated[Path | None, _given("traces", "folder of Mahimahi traces (else made up)")]
Geolife = Annotated[Path | None, _given("geolife", "folder of Geolife (else made-up walks)")]
Capmetro = Annotated[Path | None, _given("capmetro", "folder of GTFS-realtime CSV")]
Programs = Annotated[Path | None, _given("programs", "folder with programs (else the path's)")]
Links = Annotated[Path | None, _given("trace", "recorded links in k7 format (else made up)")]
Ratios = Annotated[Path | None, _given("table", "recorded delivery ratios, one a line")]
Journeys = Annotated[Path | None, _given("trajectories", "folder of .plt files")]


def run_all_command(experiments: Sequence[Experiment]) -> Callable[..., None]:
    """The command that runs all of these."""

    def command(
        plan: PlanName = "short",
        into: Into = Path("out/lab/all"),
        traces: Traces = None,
        geolife: Geolife = None,
        capmetro: Capmetro = None,
        programs: Programs = None,
        trace: Links = None,
        table: Ratios = None,
        trajectories: Journeys = None,
    ) -> None:
        """Run every experiment by a committed plan; an interrupted run is continued (as root)."""
        data = {
            "traces": traces,
            "geolife": geolife,
            "capmetro": capmetro,
            "programs": programs,
            "trace": trace,
            "table": table,
            "trajectories": trajectories,
        }
        trials = trials_of(experiments, plan, data)
        whole = sum(trial.expected_s() for _, trial in trials)
        left = sum(_left_s(trial, into / each.name) for each, trial in trials)
        done = f", {in_words(left)} of it left" if left < whole else ""
        typer.echo(f"plan {plan}: {len(trials)} experiments, about {in_words(whole)}{done}")
        broken = []
        for number, (experiment, mine) in enumerate(trials, 1):
            left = sum(_left_s(trial, into / each.name) for each, trial in trials[number - 1 :])
            typer.echo(f"{number}/{len(trials)} {experiment.name}, about {in_words(left)} left")
            broken += _run(experiment, mine, into / experiment.name)
        for each in broken:
            typer.echo(f"failed: {each}", err=True)
        if broken:
            raise typer.Exit(1)

    return command


def trials_of(
    experiments: Sequence[Experiment], plan: str, data: dict[str, Path | None]
) -> list[tuple[Experiment, Trial[Any]]]:
    """The trials that a plan names, with whatever each of them takes (`TAKEN_BY`)."""
    options = plan_options(plan)
    trials = []
    for experiment in experiments:
        if experiment.name in options:
            given = {
                name: value for name, value in data.items() if experiment.name in TAKEN_BY[name]
            }
            trials.append((experiment, experiment.trial(**options[experiment.name], **given)))
    return trials


def _left_s(trial: Trial[Any], folder: Path) -> float:
    """About how long the cases take that a folder of results lacks."""
    results = Results(folder)
    return sum(trial.seconds_of(case) for case in trial.plan.cases() if not results.has(case))


def _run(experiment: Experiment, trial: Trial[Any], folder: Path) -> list[str]:
    """Run one; whatever happens to it, the others are still run."""
    try:
        return experiment.run(trial, Results(folder))
    except LabError as error:
        return [f"{experiment.name}: {error}"]

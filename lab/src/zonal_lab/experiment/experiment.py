"""An experiment: a name, what its options mean, and its page; and the two commands of each."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from zonal_lab.experiment.claims import judge
from zonal_lab.experiment.pages import how_it_was_run, verdict_tables, what_was_run
from zonal_lab.experiment.progress import in_words, showing_progress
from zonal_lab.experiment.results import Results
from zonal_lab.experiment.runner import run_trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from zonal_lab.experiment.claims import Claim, Verdict
    from zonal_lab.experiment.trial import Trial

OUTPUT = Path("out/lab")
Into = Annotated[Path | None, typer.Option(help="folder of results; continued if it exists")]
Stored = Annotated[Path, typer.Argument(help="folder of results")]
To = Annotated[Path | None, typer.Option(help="folder of the page (default: that of the results)")]
RouterProgram = Annotated[
    Path | None,
    typer.Option(help="a zenohd to be every Zenoh router, not that of Zenoh's Python library"),
]
"""An option of experiments in which a router stands."""
Name = Annotated[
    str | None, typer.Option(help="name of the page and its pictures (default: the experiment's)")
]


@dataclass(frozen=True)
class Experiment:
    """What `zonal lab` must know of an experiment.

    Attributes:
        name: the same in code, command, results folder and page.
        title: the heading of its page.
        trial: its keyword parameters are the options of `zonal lab run`; its docstring is the help.
        page: from results, a folder and a name, the lines of the page below its heading; it puts
            its pictures into the folder. Keyword parameters beyond are options of
            `zonal lab report`.
        claims: from results, all claims that the experiment judges, measured or not.
        length: from a plan, how long each case is measured, in what the plan counts: seconds,
            echoes, messages or samples. Of several runs the longest judges a claim.
    """

    name: str
    title: str
    trial: Callable[..., Trial[Any]]
    page: Callable[..., Iterable[str]]
    claims: Callable[[Results], Iterable[Claim]] = lambda _: ()
    length: Callable[[Mapping[str, Any]], float] = lambda _: 0.0

    def run(self, trial: Trial[Any], results: Results) -> list[str]:
        """Run what the results lack, showing progress; then write the page beside them.

        Returns what failed, in words.
        """
        total = sum(1 for _ in trial.plan.cases())
        typer.echo(f"{self.name}: {total} cases, about {in_words(trial.expected_s())}")
        with showing_progress(total, emulating=trial.emulates) as tell:
            failures = run_trial(self.name, trial, results, on_data=typer.echo, on_case=tell)
        for each in failures:
            typer.echo(f"failed: {each}", err=True)
        typer.echo(f"page: {self.report(results, results.folder)}")
        return failures

    def verdicts(self, results: Results) -> list[Verdict]:
        """The verdicts on all claims."""
        return list(judge(self.claims(results)))

    def report(
        self,
        results: Results,
        folder: Path,
        name: str | None = None,
        verdicts: Sequence[Verdict] | None = None,
        **options: Any,
    ) -> Path:
        """Write the page of stored results; needs neither root nor a network. Returns its path.

        Verdicts that are known already need not be computed again.
        """
        if verdicts is None:
            verdicts = self.verdicts(results)
        name = name or self.name
        folder.mkdir(parents=True, exist_ok=True)
        manifest = results.manifest()
        loads = [record.load for record in results.records()]
        lines = [
            f"# {self.title}",
            "",
            *what_was_run(manifest, loads),
            *verdict_tables(verdicts),
            *self.page(results, folder, name, **options),
            *how_it_was_run(manifest),
        ]
        page = folder / f"{name}.md"
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return page


def run_command(experiment: Experiment) -> Callable[..., None]:
    """`zonal lab run <experiment>`: the options of its trial, and `--into`."""

    def command(into: Into = None, **options: Any) -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        results = Results(into or OUTPUT / f"{experiment.name}-{stamp}")
        experiment.run(experiment.trial(**options), results)

    return _with_options_of(experiment.trial, command)


def report_command(experiment: Experiment) -> Callable[..., None]:
    """`zonal lab report <experiment>`: a folder, `--to`, `--name`, and the options of its page."""

    def command(folder: Stored, to: To = None, name: Name = None, **options: Any) -> None:
        page = experiment.report(Results(folder), to or folder, name, **options)
        typer.echo(f"page: {page}")

    command.__doc__ = f"{experiment.title}: the page again from stored results."
    return _with_options_of(experiment.page, command)


def _with_options_of(
    source: Callable[..., Any], command: Callable[..., None]
) -> Callable[..., None]:
    """The command, with a signature that shows `source`'s keyword parameters instead of `**`."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    shown = [
        *(each for each in own if each.kind is not inspect.Parameter.VAR_KEYWORD),
        *_options_of(source),
    ]
    command.__doc__ = command.__doc__ or source.__doc__
    command.__annotations__ = {each.name: each.annotation for each in shown}
    command.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined] # typer asks it
    return command


def _options_of(source: Callable[..., Any]) -> list[inspect.Parameter]:
    """The keyword parameters of a function with their annotations read.

    Annotations of others may name what only the type checker sees, so they are left alone.
    """
    options = [
        each
        for each in inspect.signature(source).parameters.values()
        if each.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    written = SimpleNamespace(__annotations__={each.name: each.annotation for each in options})
    read = get_type_hints(written, inspect.unwrap(source).__globals__, include_extras=True)
    return [each.replace(annotation=read[each.name]) for each in options]

"""What every experiment shares, once: an experiment is a package that fills these in.

- `plan`: its cases, in turn; `trial`: how a case is run; `runner`: runs what is missing.
- `manifest`, `results`: what is kept on disk.
- `verdicts`: claims and whether they hold; `pages`, `pictures`: what a page is made of.
- `progress`: what a run shows; `experiment`: the commands `zonal lab run` and `zonal lab report`.

A new experiment is a package with an `EXPERIMENT` in its face, and a line in the list of
`zonal_lab.command`.
"""

from zonal_lab.experiment.experiment import Experiment, report_command, run_command
from zonal_lab.experiment.manifest import manifest_of_now
from zonal_lab.experiment.pages import picture, table, verdict_table, write_rows
from zonal_lab.experiment.pictures import COLOURS, grouped_bars, new_figure, panels, save_figure
from zonal_lab.experiment.plan import Case, Plan, in_turn, numbers, require_known, words
from zonal_lab.experiment.progress import showing_progress
from zonal_lab.experiment.results import Record, Results
from zonal_lab.experiment.runner import run_trial
from zonal_lab.experiment.trial import Outcome, Trial
from zonal_lab.experiment.verdicts import OURS, Verdict, change, changes, judged

__all__ = [
    "COLOURS",
    "OURS",
    "Case",
    "Experiment",
    "Outcome",
    "Plan",
    "Record",
    "Results",
    "Trial",
    "Verdict",
    "change",
    "changes",
    "grouped_bars",
    "in_turn",
    "judged",
    "manifest_of_now",
    "new_figure",
    "numbers",
    "panels",
    "picture",
    "report_command",
    "require_known",
    "run_command",
    "run_trial",
    "save_figure",
    "showing_progress",
    "table",
    "verdict_table",
    "words",
    "write_rows",
]

"""What every experiment shares, once: an experiment is a package that fills these in.

- `plan`: its cases, in turn; `trial`: how a case is run; `runner`: runs what is missing.
- `manifest`, `results`: what is kept on disk.
- `claims`: numbers, their intervals, and three verdicts; `pages`, `pictures`: what a page is
  made of.
- `kept`, `evaluation`: what is committed of a run, and the pages made from it.
- `progress`: what a run shows; `experiment`: the commands `zonal lab run` and `zonal lab report`.

A new experiment is a package with an `EXPERIMENT` in its face, and a line in the list of
`zonal_lab.command`.
"""

from zonal_lab.experiment.claims import OURS, Claim, Draw, Ruling, Unit, Verdict, change, judge
from zonal_lab.experiment.evaluation import EVALUATION, differences, keep, write_pages
from zonal_lab.experiment.experiment import (
    Experiment,
    RouterProgram,
    report_command,
    run_command,
)
from zonal_lab.experiment.manifest import manifest_of_now
from zonal_lab.experiment.pages import picture, table, write_rows
from zonal_lab.experiment.pictures import COLOURS, grouped_bars, new_figure, panels, save_figure
from zonal_lab.experiment.plan import (
    Case,
    Plan,
    Routers,
    in_turn,
    numbers,
    require_known,
    words,
)
from zonal_lab.experiment.progress import in_words, showing_progress
from zonal_lab.experiment.results import Record, Results
from zonal_lab.experiment.runner import run_trial
from zonal_lab.experiment.trial import Outcome, Trial

__all__ = [
    "COLOURS",
    "EVALUATION",
    "OURS",
    "Case",
    "Claim",
    "Draw",
    "Experiment",
    "Outcome",
    "Plan",
    "Record",
    "Results",
    "RouterProgram",
    "Routers",
    "Ruling",
    "Trial",
    "Unit",
    "Verdict",
    "change",
    "differences",
    "grouped_bars",
    "in_turn",
    "in_words",
    "judge",
    "keep",
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
    "words",
    "write_pages",
    "write_rows",
]

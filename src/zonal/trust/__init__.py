"""Trust: who may do what and where, positions that somebody vouches for, and sealed messages.

`rules` decides (with `patterns` for topics and `who` for users), `rules_file` reads `rules.toml`,
`plausibility` judges how positions change; `router_rules` makes a Zenoh router's access control of
rules (with sets of cells from `cell_ranges`).
"""

from zonal.trust.plausibility import Judged, Movements, Plausible
from zonal.trust.router_rules import RouterRules, compile_rules
from zonal.trust.rules import Action, HearingVerdict, Rule, Rules, Verdict
from zonal.trust.rules_file import parse_rules, read_rules
from zonal.trust.who import Who

__all__ = [
    "Action",
    "HearingVerdict",
    "Judged",
    "Movements",
    "Plausible",
    "RouterRules",
    "Rule",
    "Rules",
    "Verdict",
    "Who",
    "compile_rules",
    "parse_rules",
    "read_rules",
]

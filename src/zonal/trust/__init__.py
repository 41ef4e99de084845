"""Trust: who may do what and where, positions that somebody vouches for, and sealed messages.

`rules` decides (with `patterns` for topics and `who` for users), `rules_file` reads `rules.toml`,
`plausibility` judges how positions change; `shared_secret` and `replay` are what those who know a
secret recognise each other by.
"""

from zonal.trust.plausibility import Judged, Movements, Plausible
from zonal.trust.replay import ReplayGuard
from zonal.trust.rules import Action, HearingVerdict, Rule, Rules, Verdict
from zonal.trust.rules_file import parse_rules, read_rules
from zonal.trust.shared_secret import (
    SEAL_OVERHEAD,
    code_of,
    derived_key,
    is_code_of,
    open_bytes,
    seal_bytes,
)
from zonal.trust.who import Who

__all__ = [
    "SEAL_OVERHEAD",
    "Action",
    "HearingVerdict",
    "Judged",
    "Movements",
    "Plausible",
    "ReplayGuard",
    "Rule",
    "Rules",
    "Verdict",
    "Who",
    "code_of",
    "derived_key",
    "is_code_of",
    "open_bytes",
    "parse_rules",
    "read_rules",
    "seal_bytes",
]

"""Trust: who may do what and where, positions that somebody vouches for, and sealed messages.

`rules` decides (with `patterns` for topics and `who` for users), `rules_file` reads `rules.toml`,
`plausibility` judges how positions change, `router_rules` makes a Zenoh router's access control of
rules (with sets of cells from `cell_ranges`); `shared_secret` and `replay` are what those who know
a secret recognise each other by; `attestation` signs and verifies positions, `zone_keys` derives
the keys of zones and hands them over, `seal` encrypts payloads.
"""

from zonal.trust.attestation import (
    NO_HOLDER,
    Attestation,
    AttestationRequest,
    Attester,
    TrustedIssuers,
    new_private_pem,
    read_token,
    token_from_text,
    token_to_text,
)
from zonal.trust.plausibility import Judged, Movements, Plausible
from zonal.trust.replay import ReplayGuard
from zonal.trust.router_rules import RouterRules, compile_rules
from zonal.trust.rules import Action, HearingVerdict, Rule, Rules, Verdict
from zonal.trust.rules_file import parse_rules, read_rules
from zonal.trust.seal import (
    SEALED_ENCODING,
    open_payload,
    read_places,
    seal_payload,
    sealed_head,
    written_places,
)
from zonal.trust.shared_secret import (
    SEAL_OVERHEAD,
    code_of,
    derived_key,
    is_code_of,
    open_bytes,
    seal_bytes,
)
from zonal.trust.who import Who
from zonal.trust.zone_keys import (
    EpochKey,
    Holder,
    Zone,
    answer_for,
    check_zone,
    new_secret,
    read_question,
    sealing_epoch,
)

__all__ = [
    "NO_HOLDER",
    "SEALED_ENCODING",
    "SEAL_OVERHEAD",
    "Action",
    "Attestation",
    "AttestationRequest",
    "Attester",
    "EpochKey",
    "HearingVerdict",
    "Holder",
    "Judged",
    "Movements",
    "Plausible",
    "ReplayGuard",
    "RouterRules",
    "Rule",
    "Rules",
    "TrustedIssuers",
    "Verdict",
    "Who",
    "Zone",
    "answer_for",
    "check_zone",
    "code_of",
    "compile_rules",
    "derived_key",
    "is_code_of",
    "new_private_pem",
    "new_secret",
    "open_bytes",
    "open_payload",
    "parse_rules",
    "read_places",
    "read_question",
    "read_rules",
    "read_token",
    "seal_bytes",
    "seal_payload",
    "sealed_head",
    "sealing_epoch",
    "token_from_text",
    "token_to_text",
    "written_places",
]

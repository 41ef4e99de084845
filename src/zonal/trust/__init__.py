"""Trust: who may do what and where, positions that somebody vouches for, and sealed messages."""

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
from zonal.trust.replay import ReplayGuard
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
    "Attestation",
    "AttestationRequest",
    "Attester",
    "EpochKey",
    "Holder",
    "ReplayGuard",
    "TrustedIssuers",
    "Zone",
    "answer_for",
    "check_zone",
    "code_of",
    "derived_key",
    "is_code_of",
    "new_private_pem",
    "new_secret",
    "open_bytes",
    "open_payload",
    "read_places",
    "read_question",
    "read_token",
    "seal_bytes",
    "seal_payload",
    "sealed_head",
    "sealing_epoch",
    "token_from_text",
    "token_to_text",
    "written_places",
]

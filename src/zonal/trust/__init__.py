"""Trust: who may do what and where, positions that somebody vouches for, and sealed messages."""

from zonal.trust.replay import ReplayGuard
from zonal.trust.shared_secret import (
    SEAL_OVERHEAD,
    code_of,
    derived_key,
    is_code_of,
    open_bytes,
    seal_bytes,
)

__all__ = [
    "SEAL_OVERHEAD",
    "ReplayGuard",
    "code_of",
    "derived_key",
    "is_code_of",
    "open_bytes",
    "seal_bytes",
]

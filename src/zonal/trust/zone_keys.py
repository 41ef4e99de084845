"""Keys of zones: who has them, for how long they hold, and how they are handed over.

A zone has a secret, which stays with its key service and with those whom the operator gives it.
Time is cut into epochs; the key of each is derived from the secret, and tells nothing about the
others. Whoever proves to be inside gets the key of the present epoch, sealed for the X25519 key in
its attested position, and signed by the service:

```
question  byte 0xA2, 16 random bytes, the token
answer    byte 0xA3, issuer (8), epoch (4), seconds of an epoch (4), ephemeral X25519 key (32),
          the key of the epoch, sealed (60), signature (64) of all of that and the question
```
"""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from zonal.errors import SealError, TrustError
from zonal.geo import as_area
from zonal.trust.attestation import (
    LONGEST_TOKEN,
    NO_HOLDER,
    PUBLIC_BYTES,
    SIGNATURE_BYTES,
    Attestation,
)
from zonal.trust.shared_secret import (
    KEY_BYTES,
    SEAL_OVERHEAD,
    cryptography_module,
    derived_key,
    open_bytes,
    seal_bytes,
)

if TYPE_CHECKING:
    from zonal.geo import Area
    from zonal.trust.attestation import Attester, TrustedIssuers

QUESTION, ANSWER = 0xA2, 0xA3
NONCE_BYTES = 16
EPOCH_S = 60
LEAD_S = 5.0
"""So long into an epoch senders still seal with the key of the one before: receivers have the new
one by then."""
GRACE_S = 15.0
"""So long into an epoch the key of the one before is given as well: messages may be under way."""
_HEAD = struct.Struct(">BQII32s")
_CONTEXT = b"zonal zone key\0"
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


class EpochKey(NamedTuple):
    """What opens and makes the seals of one epoch of a zone."""

    zone: str
    epoch: int
    epoch_s: int
    key: bytes

    def is_for_sealing(self, now: float) -> bool:
        """Whether messages are sealed with it now, or were a moment ago."""
        return 0 <= sealing_epoch(now, self.epoch_s) - self.epoch <= 1


@dataclass(frozen=True, slots=True)
class Zone:
    """A place whose messages are sealed, as its key service knows it."""

    name: str
    area: Area
    secret: bytes
    epoch_s: int = EPOCH_S

    def __post_init__(self) -> None:
        check_zone(self.name)
        object.__setattr__(self, "area", as_area(self.area))
        if len(self.secret) < NONCE_BYTES:
            raise TrustError(f"the secret of a zone has {NONCE_BYTES} bytes or more")
        if not 0 < self.epoch_s < 1 << 32:
            raise TrustError(f"an epoch lasts for one second or more, not {self.epoch_s}")

    def epoch_at(self, now: float) -> int:
        """Which epoch it is."""
        return int(now // self.epoch_s)

    def key_of(self, epoch: int) -> EpochKey:
        """The key of an epoch."""
        purpose = f"zonal zone {self.name} {self.epoch_s} {epoch}"
        return EpochKey(self.name, epoch, self.epoch_s, derived_key(self.secret, purpose))

    def keys_for_those_inside(self, now: float) -> list[EpochKey]:
        """Those of now, the newest first."""
        epoch = self.epoch_at(now)
        is_young = now - epoch * self.epoch_s < min(GRACE_S, self.epoch_s / 2)
        return [self.key_of(epoch - ago) for ago in range(2 if is_young else 1)]


def sealing_epoch(now: float, epoch_s: int) -> int:
    """The epoch whose key messages are sealed with at this time."""
    return int((now - min(LEAD_S, epoch_s / 4)) // epoch_s)


class Holder:
    """The key pair of somebody whose position is attested: what it is given, only it can read."""

    def __init__(self) -> None:
        x25519 = cryptography_module("hazmat.primitives.asymmetric.x25519")
        self._key = x25519.X25519PrivateKey.generate()
        self.public_key: bytes = self._key.public_key().public_bytes_raw()
        """Goes into its tokens."""

    def ask(self, token: bytes) -> bytes:
        """A question to a key service."""
        return bytes((QUESTION,)) + os.urandom(NONCE_BYTES) + token

    def read_answer(
        self, answer: bytes, *, zone: str, question: bytes, services: TrustedIssuers
    ) -> EpochKey:
        """The key in an answer to this question, if a trusted service gave it."""
        signed, signature = answer[:-SIGNATURE_BYTES], answer[-SIGNATURE_BYTES:]
        if len(signed) != _HEAD.size + KEY_BYTES + SEAL_OVERHEAD:
            raise SealError("this is no answer of a key service")
        kind, issuer, epoch, epoch_s, ephemeral = _HEAD.unpack_from(signed)
        if kind != ANSWER or not services.is_signed(
            issuer, signature, _CONTEXT, _bound(zone, question) + signed
        ):
            raise SealError(f"no key service whom we trust gave this key of zone {zone!r}")
        head, sealed = signed[: _HEAD.size], signed[_HEAD.size :]
        shared = _shared(self._key, ephemeral)
        key = open_bytes(derived_key(shared, f"zonal zone {zone}"), sealed, head)
        return EpochKey(zone, epoch, epoch_s, key)


def read_question(question: bytes) -> bytes:
    """The token in a question."""
    if question[:1] != bytes((QUESTION,)) or len(question) > 1 + NONCE_BYTES + LONGEST_TOKEN:
        raise SealError("this is no question for the key of a zone")
    return question[1 + NONCE_BYTES :]


def answer_for(key: EpochKey, holder: Attestation, question: bytes, service: Attester) -> bytes:
    """The key, for the holder of an attested position and nobody else."""
    if holder.holder == NO_HOLDER:
        raise SealError(f"the attested position of {holder.subject!r} names no key to answer to")
    x25519 = cryptography_module("hazmat.primitives.asymmetric.x25519")
    ephemeral = x25519.X25519PrivateKey.generate()
    own = ephemeral.public_key().public_bytes_raw()
    head = _HEAD.pack(ANSWER, service.id, key.epoch, key.epoch_s, own)
    wrapping = derived_key(_shared(ephemeral, holder.holder), f"zonal zone {key.zone}")
    signed = head + seal_bytes(wrapping, key.key, head)
    return signed + service.sign(_CONTEXT, _bound(key.zone, question) + signed)


def check_zone(name: str) -> str:
    """The name itself, if a zone can have it: it is a chunk of a key."""
    if _NAME.fullmatch(name) is None:
        raise TrustError(f"a zone is named by letters, digits and ._-, at most 64, not {name!r}")
    return name


def new_secret() -> bytes:
    """A secret for a zone."""
    return os.urandom(KEY_BYTES)


def _bound(zone: str, question: bytes) -> bytes:
    return len(zone).to_bytes(1, "big") + zone.encode() + question


def _shared(own: object, other: bytes) -> bytes:
    x25519 = cryptography_module("hazmat.primitives.asymmetric.x25519")
    assert len(other) == PUBLIC_BYTES
    try:
        shared: bytes = own.exchange(x25519.X25519PublicKey.from_public_bytes(other))  # type: ignore[attr-defined]
    except ValueError as error:
        raise SealError("this public key cannot be used") from error
    return shared

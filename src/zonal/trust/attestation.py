"""Attested positions: somebody whom the operator trusts signs that a subject is in a cell, now.

A token is small and lives for seconds or minutes:

```
byte 0    0xA1, version 1
8         issuer: the first bytes of SHA-256 of its public key
8         S2 cell (its 64-bit id)
4, 2      when it was issued (seconds since 1970), and for how many seconds
32        the holder's X25519 public key; zeros where the subject proves itself otherwise
1, n      subject: a session's, client's or user's name in UTF-8
64        Ed25519 signature of all of that behind the words "zonal attested position"
```

All numbers are big-endian. The holder's key is what makes an overheard token worthless: what is
given to its holder is sealed for that key (`zone_keys`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from zonal.errors import AttestationError, GeometryError, TrustError
from zonal.geo import (
    Cell,
    Everywhere,
    GivenArea,
    GivenPoint,
    PlanarArea,
    as_area,
    cell_of,
    compare_quadrangles,
    planar_of,
)
from zonal.trust.shared_secret import cryptography_module

if TYPE_CHECKING:
    from collections.abc import Iterable

HEAD = struct.Struct(">BQQIH32sB")
VERSION, REQUEST = 0xA1, 0xA4
LONGEST_REQUEST = 65_536
SIGNATURE_BYTES, PUBLIC_BYTES = 64, 32
NO_HOLDER = bytes(PUBLIC_BYTES)
LONGEST_SUBJECT, LONGEST_LIFETIME_S = 255, 0xFFFF
LONGEST_TOKEN = HEAD.size + LONGEST_SUBJECT + SIGNATURE_BYTES
DEFAULT_LIFETIME_S = 60
DEFAULT_LEVEL = 22
"""Cells of some two metres."""
COARSEST_LEVEL = 8
CLOCKS_DIFFER_S = 5.0
"""How far into the future a token may have been issued by our clock."""
_CONTEXT = b"zonal attested position\0"


class Attestation(NamedTuple):
    """What a token says."""

    issuer: int
    subject: str
    cell: Cell
    issued: int
    lifetime_s: int
    holder: bytes = NO_HOLDER

    @property
    def expires(self) -> int:
        """From when on it counts for nothing: seconds since 1970."""
        return self.issued + self.lifetime_s

    def is_current(self, now: float) -> bool:
        """Whether it holds at this time."""
        return self.issued - CLOCKS_DIFFER_S <= now < self.expires

    def is_inside(self, area: GivenArea) -> bool:
        """Whether the whole cell lies in the area."""
        return holds_cell(area, self.cell)

    def holds_in(self, area: GivenArea, now: float) -> bool:
        """Whether the subject is attested to be in the area now."""
        return self.is_current(now) and self.is_inside(area)


class AttestationRequest(NamedTuple):
    """What somebody who wants to be attested tells: byte 0xA4, holder (32), subject (1, n), rest.

    The evidence is whatever the operator's locating system asks for: nobody is believed to be
    the subject for having said so.
    """

    subject: str
    holder: bytes
    evidence: bytes = b""

    def to_bytes(self) -> bytes:
        """As it is asked."""
        name = self.subject.encode()
        return bytes((REQUEST,)) + self.holder + bytes((len(name),)) + name + self.evidence

    @classmethod
    def from_bytes(cls, data: bytes) -> AttestationRequest:
        """As it was asked."""
        start = 2 + PUBLIC_BYTES
        if len(data) <= start or data[0] != REQUEST or len(data) > LONGEST_REQUEST:
            raise AttestationError("this is no request for an attested position")
        end = start + data[start - 1]
        try:
            return cls(data[start:end].decode(), data[1 : start - 1], data[end:])
        except UnicodeDecodeError as error:
            raise AttestationError(f"this subject cannot be: {error}") from error


class Attester:
    """Issues tokens with a private key (PEM); `Attester.new()` makes one."""

    def __init__(self, private_pem: bytes) -> None:
        self._key = private_key(private_pem)
        self.public_key: bytes = self._key.public_key().public_bytes_raw()

    @classmethod
    def new(cls) -> Attester:
        """One with a new key."""
        return cls(new_private_pem())

    @property
    def id(self) -> int:
        """By which tokens name their issuer."""
        return issuer_id(self.public_key)

    @property
    def public_pem(self) -> bytes:
        """What others need to trust it."""
        serialization = cryptography_module("hazmat.primitives.serialization")
        pem: bytes = self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return pem

    def attest(
        self,
        subject: str,
        place: GivenPoint,
        *,
        now: float,
        lifetime_s: int = DEFAULT_LIFETIME_S,
        level: int = DEFAULT_LEVEL,
        holder: bytes = NO_HOLDER,
    ) -> bytes:
        """A token: the subject is in this place's cell of that level."""
        name = subject.encode()
        if not 0 < len(name) <= LONGEST_SUBJECT:
            raise AttestationError(f"a subject has 1 to {LONGEST_SUBJECT} bytes, not {len(name)}")
        if not 0 < lifetime_s <= LONGEST_LIFETIME_S:
            raise AttestationError(
                f"a token lives for 1 to {LONGEST_LIFETIME_S} seconds, not {lifetime_s}"
            )
        if len(holder) != PUBLIC_BYTES:
            raise AttestationError(f"a holder's public key has {PUBLIC_BYTES} bytes")
        cell = cell_of(place, level).id
        issued = math.floor(now)
        head = HEAD.pack(VERSION, self.id, cell, issued, lifetime_s, holder, len(name))
        return head + name + self.sign(_CONTEXT, head + name)

    def sign(self, context: bytes, data: bytes) -> bytes:
        """The signature of some bytes, for this purpose."""
        return bytes(self._key.sign(context + data))


class TrustedIssuers:
    """The public keys that count: of attesters, and of key services.

    Args:
        keys: raw public keys of 32 bytes, or PEM with one or several.
    """

    def __init__(self, keys: Iterable[bytes]) -> None:
        raw = [key for each in keys for key in public_keys(each)]
        self._keys = {issuer_id(key): key for key in raw}

    def __len__(self) -> int:
        return len(self._keys)

    def verify(
        self, token: bytes, *, now: float, subject: str | None = None, area: GivenArea | None = None
    ) -> Attestation:
        """What a token says, if a trusted issuer signed it and it holds now.

        With a `subject` it must be theirs, with an `area` its whole cell must lie inside; else
        `AttestationError`, which says what is wrong.
        """
        found, signed = read_token(token)
        if not self.is_signed(found.issuer, token[len(signed) :], _CONTEXT, signed):
            raise AttestationError("nobody whom we trust has signed this position")
        if not found.is_current(now):
            raise AttestationError(
                f"the attested position of {found.subject!r} held from {found.issued} to "
                f"{found.expires}, and it is {now:.0f}"
            )
        if subject is not None and found.subject != subject:
            raise AttestationError(
                f"the attested position of {found.subject!r} is none of {subject!r}"
            )
        if area is not None and not found.is_inside(area):
            raise AttestationError(f"the attested position of {found.subject!r} is outside")
        return found

    def is_signed(self, issuer: int, signature: bytes, context: bytes, data: bytes) -> bool:
        """Whether this trusted issuer signed these bytes for this purpose."""
        key = self._keys.get(issuer)
        return key is not None and _is_signed(key, signature, context + data)


def read_token(token: bytes) -> tuple[Attestation, bytes]:
    """What a token says, unproven, and which of its bytes are signed."""
    if not HEAD.size + SIGNATURE_BYTES < len(token) <= LONGEST_TOKEN:
        raise AttestationError(f"{len(token)} bytes are no attested position")
    version, issuer, cell, issued, lifetime_s, holder, length = HEAD.unpack_from(token)
    if version != VERSION or len(token) != HEAD.size + length + SIGNATURE_BYTES:
        raise AttestationError("these bytes are no attested position")
    signed = token[:-SIGNATURE_BYTES]
    try:
        subject = signed[HEAD.size :].decode()
        return Attestation(issuer, subject, Cell(cell), issued, lifetime_s, holder), signed
    except (UnicodeDecodeError, GeometryError) as error:
        raise AttestationError(f"this attested position cannot be: {error}") from error


def token_to_text(token: bytes) -> str:
    """A token for where only text goes: base64url without padding."""
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def token_from_text(text: str) -> bytes:
    """The token of such a text."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise AttestationError("this text is no attested position in base64url") from error


def issuer_id(public_key: bytes) -> int:
    """How a public key is named in what it signed."""
    return int.from_bytes(hashlib.sha256(public_key).digest()[:8], "big")


def holds_cell(area: GivenArea, cell: Cell) -> bool:
    """Whether an area contains a whole cell; in doubt it does not, nor one of 40 km or more."""
    area = as_area(area)
    if isinstance(area, Everywhere):
        return True
    if cell.level < COARSEST_LEVEL:
        return False
    corners = cell.vertices
    if isinstance(area, PlanarArea):
        lats = np.array([[corner.lat for corner in corners]])
        lons = np.array([[corner.lon for corner in corners]])
        return bool(compare_quadrangles(planar_of(area), lats, lons)[1][0])
    return all(area.contains(corner) for corner in (*corners, cell.center))


# Keys


def new_private_pem() -> bytes:
    """A new private key of an attester or key service, as PEM without a password."""
    serialization = cryptography_module("hazmat.primitives.serialization")
    ed25519 = cryptography_module("hazmat.primitives.asymmetric.ed25519")
    pem: bytes = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return pem


def private_key(pem: bytes) -> Any:
    """The Ed25519 key of a PEM."""
    serialization = cryptography_module("hazmat.primitives.serialization")
    ed25519 = cryptography_module("hazmat.primitives.asymmetric.ed25519")
    try:
        key = serialization.load_pem_private_key(pem, None)
    except (ValueError, TypeError) as error:
        raise TrustError("this is no private key in PEM; `zonal attest key` makes one") from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise TrustError("this is no Ed25519 key; `zonal attest key` makes one")
    return key


def public_keys(given: bytes) -> list[bytes]:
    """Public keys as 32 bytes each: of a raw one, or of all in a PEM."""
    if len(given) == PUBLIC_BYTES:
        return [given]
    serialization = cryptography_module("hazmat.primitives.serialization")
    end = b"-----END PUBLIC KEY-----"
    found = []
    for part in given.split(end)[:-1]:
        try:
            found.append(serialization.load_pem_public_key(part + end).public_bytes_raw())
        except (ValueError, AttributeError) as error:
            raise TrustError(f"this is no Ed25519 public key in PEM: {error}") from error
    if not found:
        raise TrustError("there is no public key; `zonal attest key` writes one beside its own")
    return found


@lru_cache(maxsize=4096)
def _is_signed(key: bytes, signature: bytes, data: bytes) -> bool:
    exceptions = cryptography_module("exceptions")
    ed25519 = cryptography_module("hazmat.primitives.asymmetric.ed25519")
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key).verify(signature, data)
    except (exceptions.InvalidSignature, ValueError):
        return False
    return True

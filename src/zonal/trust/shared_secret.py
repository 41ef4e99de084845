"""What a shared secret is good for: codes that only who knows it can make, and sealed bytes.

Codes need nothing but Python; sealing needs the package `cryptography` (`zonal[trust]`).
"""

from __future__ import annotations

import hashlib
import hmac
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from zonal.errors import SealError, TrustError

if TYPE_CHECKING:
    from types import ModuleType

KEY_BYTES = 32
NONCE_BYTES, TAG_BYTES = 12, 16
SEAL_OVERHEAD = NONCE_BYTES + TAG_BYTES
"""Bytes that a seal adds to what is sealed."""


def code_of(secret: bytes, *parts: bytes, size: int = 16) -> bytes:
    """What only who knows the secret can make of these parts: keyed BLAKE2b, so many bytes."""
    sizes = b"".join(len(part).to_bytes(8, "big") for part in parts)
    return hashlib.blake2b(
        sizes + b"".join(parts), key=_code_key(secret), digest_size=size
    ).digest()


def is_code_of(found: bytes, secret: bytes, *parts: bytes, size: int = 16) -> bool:
    """Whether a code is that of these parts; takes as long for every wrong one."""
    return hmac.compare_digest(found, code_of(secret, *parts, size=size))


def derived_key(secret: bytes, purpose: str) -> bytes:
    """A key of its own for each purpose: HKDF with SHA-256 (RFC 5869), without salt."""
    extracted = hmac.digest(bytes(32), secret, "sha256")
    return hmac.digest(extracted, purpose.encode() + b"\1", "sha256")


def seal_bytes(key: bytes, plain: bytes, associated: bytes) -> bytes:
    """AES-GCM: a random nonce, and what only the key opens, and only beside the same `associated`.

    The key has 32 bytes.
    """
    nonce = os.urandom(NONCE_BYTES)
    return nonce + bytes(_cipher(key).encrypt(nonce, plain, associated))


def open_bytes(key: bytes, data: bytes, associated: bytes) -> bytes:
    """What `seal_bytes` sealed; `SealError` for another key, other `associated`, changed bytes."""
    from cryptography.exceptions import InvalidTag

    if len(data) < SEAL_OVERHEAD:
        raise SealError(f"{len(data)} bytes are no sealed message")
    try:
        return bytes(_cipher(key).decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], associated))
    except InvalidTag as error:
        raise SealError("sealed with another key, or changed on its way") from error


def cryptography_module(name: str) -> ModuleType:
    """A module of the package `cryptography`; `TrustError` where it is not installed."""
    from importlib import import_module

    try:
        return import_module(f"cryptography.{name}")
    except ModuleNotFoundError as error:
        raise TrustError(
            "attested positions and seals need the package cryptography: pip install 'zonal[trust]'"
        ) from error


@lru_cache(maxsize=256)
def _cipher(key: bytes) -> Any:
    return cryptography_module("hazmat.primitives.ciphers.aead").AESGCM(key)


@lru_cache(maxsize=16)
def _code_key(secret: bytes) -> bytes:
    return hashlib.blake2b(secret).digest()

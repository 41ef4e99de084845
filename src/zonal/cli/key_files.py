"""Keys and secrets in files: private ones are for their owner alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from zonal.errors import TrustError
from zonal.geo import Everywhere
from zonal.trust import Attester, TrustedIssuers, Zone

if TYPE_CHECKING:
    from pathlib import Path

    from zonal.geo import Area


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner reads; one that is there stays."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise TrustError(f"{path} is there already, and is not replaced") from error
    except OSError as error:
        raise TrustError(f"{path} cannot be written: {error.strerror}") from error
    with os.fdopen(number, "wb") as file:
        file.write(data)


def read_bytes(path: Path) -> bytes:
    """What a file holds."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise TrustError(f"{path} cannot be read: {error.strerror}") from error


def read_attester(path: Path) -> Attester:
    """The private key of an attester or a key service."""
    return Attester(read_bytes(path))


def read_issuers(path: Path) -> TrustedIssuers:
    """The public keys of those whose word counts."""
    return TrustedIssuers([read_bytes(path)])


def read_mesh_key(path: Path) -> bytes:
    """The key of a mesh: what the file holds, without the space around it."""
    return read_bytes(path).strip()


def secret_text(secret: bytes, epoch_s: int) -> bytes:
    """A zone's secret and the seconds of its epochs, as its file holds them."""
    return f"{secret.hex()} {epoch_s}\n".encode()


def read_zone(name: str, path: Path, area: Area | None = None) -> Zone:
    """The zone with the secret in this file."""
    try:
        secret, epoch_s = read_bytes(path).decode().split()
        return Zone(name, area or Everywhere(), bytes.fromhex(secret), int(epoch_s))
    except ValueError as error:
        raise TrustError(f"{path} is no secret of a zone; `zonal keys secret` makes one") from error

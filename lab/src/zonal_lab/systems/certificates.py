"""A certificate for hosts of an emulated network, made on the spot."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

from zonal_lab.errors import EmulationError

if TYPE_CHECKING:
    from pathlib import Path


def encrypted_links(folder: Path) -> dict[str, Any]:
    """Make a certificate in a folder; Zenoh's settings of TLS and QUIC links that use it."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = [
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
        *("-nodes", "-days", "2", "-subj", "/CN=lab", "-keyout", str(key), "-out"),
        *(str(certificate), "-addext", "subjectAltName=DNS:lab"),
        *("-addext", "basicConstraints=critical,CA:FALSE"),
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=30)  # noqa: S603 - ours
    except (OSError, subprocess.SubprocessError) as error:
        raise EmulationError(f"openssl made no certificate: {error}") from error
    return {
        "root_ca_certificate": str(certificate),
        "listen_certificate": str(certificate),
        "listen_private_key": str(key),
        "verify_name_on_connect": False,
    }

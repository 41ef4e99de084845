"""Certificates for tests: an authority, a server, a client, and a stranger of another authority."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates for loopback, and writes them as `<name>.pem` and `<name>.key`."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        authority = x509.BasicConstraints(ca=True, path_length=None)
        self.certificate = self._write(name, self._key, self._key, authority)

    def issue(self, name: str) -> Files:
        """A certificate for a name."""
        key = ec.generate_private_key(ec.SECP256R1())
        hosts = x509.SubjectAlternativeName(
            [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        )
        certificate = self._write(name, key, self._key, hosts)
        return Files(certificate, certificate.with_suffix(".key"))

    def _write(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        signer: ec.EllipticCurvePrivateKey,
        extension: x509.ExtensionType,
    ) -> Path:
        now = datetime.now(UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=30))
            .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
            .sign(signer, hashes.SHA256())
        )
        path = self._folder / f"{name}.pem"
        path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        path.with_suffix(".key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return path


class Files(NamedTuple):
    """A certificate and its key, as keywords of `zonal.Security` take them."""

    certificate: Path
    key: Path


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

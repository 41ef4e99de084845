"""What a TLS certificate says, found by a handshake with itself: as a client would see it."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from zonal.errors import CommandError

if TYPE_CHECKING:
    from pathlib import Path


class CertificateFacts(NamedTuple):
    """For whom a certificate is, and until when."""

    names: tuple[str, ...]
    until: datetime

    @property
    def days_left(self) -> int:
        """Whole days until it ends."""
        return (self.until - datetime.now(UTC)).days


def certificate_facts(certificate: Path, key: Path) -> CertificateFacts:
    """What a certificate says; `CommandError` if it is unreadable, not of this key, or expired."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client = ssl.create_default_context(cafile=None)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # it vouches for itself
    client.verify_flags &= ~ssl.VERIFY_X509_STRICT  # as whoever connects by Zenoh
    try:
        server.load_cert_chain(certificate, key)
        client.load_verify_locations(certificate)
        told = _handshake(server, client)
    except ssl.SSLCertVerificationError as error:
        raise CommandError(error.verify_message) from error
    except ssl.SSLError as error:
        raise CommandError(f"certificate and key do not fit together: {error.reason}") from error
    except OSError as error:
        raise CommandError(f"cannot read it: {error.strerror}") from error
    names = tuple(str(pair[1]) for pair in told.get("subjectAltName", ()))
    seconds = ssl.cert_time_to_seconds(str(told["notAfter"]))
    return CertificateFacts(names, datetime.fromtimestamp(seconds, UTC))


def _handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> dict[str, tuple[str, ...]]:
    """What a client that connects is shown; in memory, without a socket."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(2):
        for side in (ours, theirs):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return dict(ours.getpeercert() or {})  # type: ignore[arg-type]

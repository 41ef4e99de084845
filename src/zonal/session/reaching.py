"""Why an endpoint cannot be reached: Zenoh says only that it could not."""

from __future__ import annotations

import json
import re
import socket
import ssl
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import zenoh

_PATIENCE_S, _REFUSAL_S = 2.0, 0.5
_ADDRESS = re.compile(r"(tcp|tls)/([^?#]+):([0-9]+)")
_REFUSALS = {
    "CERTIFICATE_REQUIRED": "it wants a certificate of ours (certificate and key)",
    "UNKNOWN_CA": "it does not trust our certificate",
    "BAD_CERTIFICATE": "it does not trust our certificate",
    "WRONG_VERSION_NUMBER": "it does not speak TLS",
}


def why_unreachable(endpoint: str, config: zenoh.Config) -> str:
    """What is wrong with an endpoint that Zenoh could not connect to: tried as a client would."""
    address = _ADDRESS.match(endpoint)
    if address is None:
        return "is a router running there? (`zonal router` starts one)"
    protocol, host, port = address[1], address[2].strip("[]"), int(address[3])
    try:
        with socket.create_connection((host, port), _PATIENCE_S) as connection:
            if protocol == "tls":
                said = _tls_refusal(connection, host, config)
            else:
                said = "it speaks TLS: connect to tls/…" if _speaks_tls(connection) else None
    except socket.gaierror:
        return f"no host {host} is known"
    except OSError:
        return "is a router running there? (`zonal router` starts one)"
    return said or _not_let_in(config)


def _not_let_in(config: zenoh.Config) -> str:
    if _entry(config, "transport/auth/usrpwd/user") is None:
        return "it answers, but does not let us in: it may want a user and a password"
    return "it answers, but does not let us in: user or password is wrong"


def _tls_refusal(connection: socket.socket, host: str, config: zenoh.Config) -> str | None:
    """What a handshake shows to be wrong; None where it succeeds."""
    tls = "transport/link/tls"
    certificate = _entry(config, f"{tls}/connect_certificate")
    try:
        context = ssl.create_default_context(cafile=_entry(config, f"{tls}/root_ca_certificate"))
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # of Python 3.13; Zenoh is not so strict
        context.check_hostname = _entry(config, f"{tls}/verify_name_on_connect") is not False
        if certificate is not None:
            key = _entry(config, f"{tls}/connect_private_key")
            context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        return f"our certificate, key or ca cannot be used: {error}"
    shaken = False
    try:
        with context.wrap_socket(connection, server_hostname=host) as wrapped:
            shaken = True
            wrapped.settimeout(_REFUSAL_S)
            wrapped.recv(1)  # a server says only after its handshake that it refuses a client
    except ssl.SSLCertVerificationError as error:
        return f"its certificate is not trusted: {error.verify_message} (ca says who is)"
    except ssl.SSLError as error:
        reason = error.reason or ""
        known = (said for part, said in _REFUSALS.items() if part in reason)
        return next(known, f"TLS fails: {reason or error}")
    except OSError:  # silence, or an end
        return None if shaken else _REFUSALS["WRONG_VERSION_NUMBER"]
    return None


def _speaks_tls(connection: socket.socket) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with context.wrap_socket(connection):
            return True
    except OSError:
        return False


def _entry(config: zenoh.Config, path: str) -> Any:
    return json.loads(config.get_json(path))

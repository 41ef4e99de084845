"""Who we are to Zenoh's other side, who may come to us, and doors that stand open to all."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zenoh

from zonal.errors import ConfigurationError
from zonal.runtime import is_loopback

_TLS = "transport/link/tls"
_USERS = "transport/auth/usrpwd"
LISTEN = "listen/endpoints"
"""Where Zenoh's configuration says where to listen."""
_ENCRYPTED = ("tls", "quic", "quic_datagram")
_WITHOUT_NETWORK = ("unixsock-stream", "unixpipe", "serial", "vsock")
_LOCAL_LISTENERS = {"peer": "tcp/127.0.0.1:0", "router": "tcp/127.0.0.1:7447"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """Certificates and credentials of a session or router; files as paths.

    What is given is used for both ways: to those we connect to, and to those who connect to us.
    Raises `ConfigurationError` for parts that do not belong together.
    """

    ca: Path | str | None = None
    """Verifies those we connect to (PEM); without it, the public authorities do."""
    certificate: Path | str | None = None
    """Who we are (PEM)."""
    key: Path | str | None = None
    """The certificate's private key (PEM)."""
    client_ca: Path | str | None = None
    """Who connects over TLS needs a certificate that this verifies (PEM)."""
    user: str | None = None
    """Who we are, by a password."""
    password: str | None = None
    password_file: Path | str | None = None
    """A file whose first line is the password."""
    users: Path | str | None = None
    """Who connects must be in this file: a line `user:password` each."""

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ConfigurationError("a certificate needs its key, and a key its certificate")
        if self.password is not None and self.password_file is not None:
            raise ConfigurationError("a password stands either in a file or by itself")
        has_password = self.password is not None or self.password_file is not None
        if (self.user is not None) != has_password:
            raise ConfigurationError("a user needs a password, and a password its user")
        if None not in {self.ca, self.client_ca} and Path(str(self.ca)) != Path(
            str(self.client_ca)
        ):
            raise ConfigurationError(
                "Zenoh has one file of authorities: put those of ca and client_ca into one file"
            )
        if self.client_ca is not None and self.certificate is None:
            raise ConfigurationError("to ask for certificates, we need one of our own")

    def __repr__(self) -> str:
        told = (f"{name}={getattr(self, name)!r}" for name in self.__slots__ if name != "password")
        return f"Security({', '.join(told)})"

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it reads, to look whether they have changed."""
        given = (
            self.ca,
            self.certificate,
            self.key,
            self.client_ca,
            self.password_file,
            self.users,
        )
        return tuple(Path(each) for each in given if each is not None)

    def entries(self, *, listens: bool) -> dict[str, Any]:
        """The entries of Zenoh's configuration."""
        found: dict[str, Any] = {
            f"{_TLS}/root_ca_certificate": _file(self.ca or self.client_ca),
            f"{_USERS}/user": self.user,
            f"{_USERS}/password": self._password(),
            f"{_USERS}/dictionary_file": _file(self.users),
        }
        for side in ("listen", "connect"):
            found[f"{_TLS}/{side}_certificate"] = _file(self.certificate)
            found[f"{_TLS}/{side}_private_key"] = _file(self.key)
        # Zenoh has one word for showing our certificate and for asking for others'.
        shows = self.certificate is not None and not listens
        found[f"{_TLS}/enable_mtls"] = True if self.client_ca is not None or shows else None
        if self.users is not None:
            read_users(Path(self.users))
        return {path: value for path, value in found.items() if value is not None}

    def _password(self) -> str | None:
        if self.password_file is None:
            return self.password
        try:
            text = Path(self.password_file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"cannot read {self.password_file}: {error}") from error
        lines = text.splitlines()
        if not lines or not lines[0]:
            raise ConfigurationError(f"{self.password_file} has no password in its first line")
        return lines[0]


def _file(path: Path | str | None) -> str | None:
    """The path as Zenoh takes it; `ConfigurationError` where no file is."""
    if path is None:
        return None
    if not Path(path).is_file():
        raise ConfigurationError(f"no such file: {path}")
    return str(Path(path).absolute())


def read_users(path: Path) -> tuple[str, ...]:
    """The users of a file; `ConfigurationError` with the line that is none of `user:password`."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {path}: {error}") from error
    names = []
    for number, line in enumerate(lines, 1):
        name, colon, password = line.partition(":")
        if line and not (name and colon and password and not name.startswith("#")):
            raise ConfigurationError(f"{path}, line {number}: expected user:password")
        if line:
            names.append(name)
    return tuple(names)


def listen_endpoints(config: zenoh.Config) -> tuple[str, ...]:
    """Where a configuration says that it listens; Zenoh's own defaults are not meant."""
    given = _written_endpoints(config)
    return () if given is None else tuple(given)


def local_listener(config: zenoh.Config) -> str | None:
    """Where to listen instead of on all addresses, as Zenoh does if nobody says where.

    None where that was said, or where those who come are asked who they are.
    """
    if _written_endpoints(config) is not None or _asks_who_comes(config, "tcp"):
        return None
    return _LOCAL_LISTENERS.get(_mode(config))


def _mode(config: zenoh.Config) -> str:
    return str(json.loads(config.get_json("mode")) or "peer")


def _written_endpoints(config: zenoh.Config) -> list[str] | None:
    given = json.loads(config.get_json(LISTEN))
    if given == json.loads(zenoh.Config().get_json(LISTEN)):
        return None
    return list(given.get(_mode(config), ()) if isinstance(given, dict) else given)


def open_listeners(config: zenoh.Config) -> tuple[str, ...]:
    """The endpoints beyond this machine by which anybody can come in."""
    return tuple(
        each
        for each in listen_endpoints(config)
        if not (is_local_endpoint(each) or _asks_who_comes(config, each))
    )


def is_local_endpoint(endpoint: str) -> bool:
    """Whether an endpoint is of this machine alone."""
    protocol, _, rest = endpoint.partition("/")
    host = re.split(r"[?#]", rest, maxsplit=1)[0].rpartition(":")[0].strip("[]")
    return protocol in _WITHOUT_NETWORK or is_loopback(host)


def _asks_who_comes(config: zenoh.Config, endpoint: str) -> bool:
    """Whether those who connect to an endpoint have to prove who they are."""
    asks = (f"{_USERS}/dictionary_file", "transport/auth/pubkey/known_keys_file")
    if any(config.get_json(path) != "null" for path in asks):
        return True
    encrypted = endpoint.partition("/")[0] in _ENCRYPTED
    return encrypted and config.get_json(f"{_TLS}/enable_mtls") == "true"


def refuse_open_listeners(config: zenoh.Config) -> None:
    """Raises `ConfigurationError` if anybody beyond this machine could come in unasked."""
    if found := open_listeners(config):
        raise ConfigurationError(
            f"{', '.join(found)} would let in anybody from beyond this machine: give users or a "
            "client_ca (mutual TLS), or say that it is meant so (insecure)"
        )

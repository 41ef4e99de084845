"""Users from a password file with salted scrypt hashes, or from certificates."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import threading
from typing import TYPE_CHECKING, NamedTuple

from zonal.broker.access import RemoteEnd, User
from zonal.broker.scram import ScramExchange, ScramKeys, keys_of
from zonal.errors import CredentialsError

if TYPE_CHECKING:
    from pathlib import Path

    from zonal.trust import Rules

COST, BLOCK, PARALLEL, SIZE = 1 << 14, 8, 1, 32
HEX = "(?:[0-9a-f]{2})+"
LINE = re.compile(
    rf"(?P<name>[^:]+):(?:scrypt\$(?P<salt>{HEX})\$(?P<hash>[0-9a-f]{{64}})"
    rf"|scram-sha-256\$(?P<iterations>[0-9]+)\$(?P<scram_salt>{HEX})"
    rf"\$(?P<stored>[0-9a-f]{{64}})\$(?P<server>[0-9a-f]{{64}}))\s*"
)
REMEMBERED = 10_000


class ScryptHash(NamedTuple):
    """What is kept of a password, unless SCRAM is wanted."""

    salt: bytes
    digest: bytes


Kept = ScryptHash | ScramKeys


def hash_password(password: bytes, *, scram: bool = False) -> str:
    """A line's second half: `scrypt$<salt>$<hash>`, both hexadecimal, or the keys of SCRAM."""
    if scram:
        keys = keys_of(password)
        parts = (keys.salt.hex(), keys.stored.hex(), keys.server.hex())
        return "$".join(("scram-sha-256", str(keys.iterations), *parts))
    salt = secrets.token_bytes(16)
    return f"scrypt${salt.hex()}${_scrypt(password, salt).hex()}"


def _scrypt(password: bytes, salt: bytes) -> bytes:
    return hashlib.scrypt(password, salt=salt, n=COST, r=BLOCK, p=PARALLEL, dklen=SIZE)


def read_passwords(path: Path) -> dict[str, Kept]:
    """What a password file keeps of each user's password."""
    users: dict[str, Kept] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = LINE.fullmatch(line)
        if found is None:
            raise CredentialsError(
                f"{path}, line {number}: expected <user>:scrypt$<salt>$<hash> "
                "or <user>:scram-sha-256$…, as `zonal broker passwd` writes it"
            )
        if found["salt"] is not None:
            users[found["name"]] = ScryptHash(
                bytes.fromhex(found["salt"]), bytes.fromhex(found["hash"])
            )
        else:
            salt, stored, server = map(bytes.fromhex, found.group("scram_salt", "stored", "server"))
            users[found["name"]] = ScramKeys(int(found["iterations"]), salt, stored, server)
    return users


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError as error:
        raise CredentialsError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CredentialsError(f"{path} is not text in UTF-8") from error


def set_password(path: Path, name: str, password: bytes, *, scram: bool = False) -> None:
    """Adds a user to a password file, or changes its password; the file is replaced as a whole.

    With `scram` what is kept lets the user prove its password without sending it, too.
    """
    if not name or ":" in name or "\n" in name or name.startswith("#"):
        raise CredentialsError(f"{name!r} is no user name: it must not contain ':' or begin '#'")
    kept = []
    if path.exists():
        read_passwords(path)  # a file that cannot be read is not rewritten
        kept = [line for line in _lines(path) if line.rpartition(":")[0] != name]
    kept.append(f"{name}:{hash_password(password, scram=scram)}")
    fresh = path.with_name(path.name + ".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write("\n".join(kept) + "\n")
    fresh.replace(path)


class Credentials:
    """Lets in whoever has a password in the file, or a certificate that TLS verified.

    Somebody without a name is let in where rules allow such a one anything.
    """

    def __init__(
        self,
        passwords: dict[str, Kept],
        rules: Rules | None = None,
        *,
        certificates: bool = False,
    ) -> None:
        self._passwords = passwords
        self.rules = rules
        self._certificates = certificates
        self._secret = secrets.token_bytes(16)
        self._proved: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def user(self, name: str | None) -> User | None:
        """A user by name, with the rules that it is held to."""
        return User(name, self.rules)

    def change(self, passwords: dict[str, Kept]) -> frozenset[str]:
        """Take other passwords from now on; the users whose old one holds no more."""
        before, self._passwords = self._passwords, passwords
        gone = frozenset(name for name, kept in before.items() if passwords.get(name) != kept)
        with self._lock:
            for name in gone:
                self._proved.pop(name, None)
        return gone

    def recall(self, user_name: str | None, password: bytes | None, peer: RemoteEnd) -> User | None:
        """The user that the certificate proves, or a password that was right before."""
        if self._certificates and peer.certificate_name is not None:
            matches = user_name in {None, peer.certificate_name}
            return self.user(peer.certificate_name) if matches else None
        if user_name is None and password is None:
            return self._nobody()
        if user_name is None or password is None:
            return None
        with self._lock:
            known = self._proved.get(user_name)
        if known is None or not hmac.compare_digest(known, self._quick(password)):
            return None
        return self.user(user_name)

    def check(self, user_name: str | None, password: bytes | None, peer: RemoteEnd) -> User | None:
        """The user that the certificate or the password proves."""
        if self._certificates and peer.certificate_name is not None:
            return self.recall(user_name, password, peer)
        if user_name is None and password is None:
            return self._nobody()
        if user_name is None or password is None:
            return None
        return self.user(user_name) if self._verify(user_name, password) else None

    def _nobody(self) -> User | None:
        """Somebody without a name, where rules know of such."""
        allowed = self.rules is not None and self.rules.knows_anonymous
        return self.user(None) if allowed else None

    def exchange(self) -> ScramExchange | None:
        """A new SCRAM exchange, where the password file has keys for it."""
        if not any(isinstance(kept, ScramKeys) for kept in self._passwords.values()):
            return None
        return ScramExchange(self._scram_keys, self._secret)

    def _scram_keys(self, name: str) -> ScramKeys | None:
        kept = self._passwords.get(name)
        return kept if isinstance(kept, ScramKeys) else None

    def _quick(self, password: bytes) -> bytes:
        return hashlib.blake2b(password, key=self._secret, salt=b"quick").digest()

    def _verify(self, name: str, password: bytes) -> bool:
        """Compares hashes; a right password is recognized from then on without the slow one."""
        # An unknown user takes as long as a known one.
        kept = self._passwords.get(name, ScryptHash(self._secret, b"\0" * SIZE))
        if isinstance(kept, ScramKeys):
            right = hmac.compare_digest(
                keys_of(password, kept.salt, kept.iterations).stored, kept.stored
            )
        else:
            same = hmac.compare_digest(_scrypt(password, kept.salt), kept.digest)
            right = same and name in self._passwords
        if right:
            with self._lock:
                if self._passwords.get(name) is not kept:
                    return False  # it was changed while we looked
                if len(self._proved) >= REMEMBERED:
                    self._proved.clear()
                self._proved[name] = self._quick(password)
        return right

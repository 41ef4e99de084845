"""Users from files: a password file with salted scrypt hashes, and a rules file in TOML."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import threading
import tomllib
from typing import TYPE_CHECKING

from zonal.broker.access import RemoteEnd, User
from zonal.broker.topics import valid_filter
from zonal.errors import CredentialsError

if TYPE_CHECKING:
    from pathlib import Path

COST, BLOCK, PARALLEL, SIZE = 1 << 14, 8, 1, 32
LINE = re.compile(r"(?P<name>[^:]+):scrypt\$(?P<salt>(?:[0-9a-f]{2})+)\$(?P<hash>[0-9a-f]{64})\s*")
EVERYONE = "*"
REMEMBERED = 10_000


def hash_password(password: bytes) -> str:
    """A line's second half: `scrypt$<salt>$<hash>`, both hexadecimal."""
    salt = secrets.token_bytes(16)
    return f"scrypt${salt.hex()}${_scrypt(password, salt).hex()}"


def _scrypt(password: bytes, salt: bytes) -> bytes:
    return hashlib.scrypt(password, salt=salt, n=COST, r=BLOCK, p=PARALLEL, dklen=SIZE)


def read_passwords(path: Path) -> dict[str, tuple[bytes, bytes]]:
    """Salt and hash of each user in a password file."""
    users: dict[str, tuple[bytes, bytes]] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = LINE.fullmatch(line)
        if found is None:
            raise CredentialsError(
                f"{path}, line {number}: expected <user>:scrypt$<salt>$<hash>, "
                "as `zonal broker passwd` writes it"
            )
        users[found["name"]] = (bytes.fromhex(found["salt"]), bytes.fromhex(found["hash"]))
    return users


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError as error:
        raise CredentialsError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CredentialsError(f"{path} is not text in UTF-8") from error


def set_password(path: Path, name: str, password: bytes) -> None:
    """Adds a user to a password file, or changes its password; the file is replaced as a whole."""
    if not name or ":" in name or "\n" in name or name.startswith("#"):
        raise CredentialsError(f"{name!r} is no user name: it must not contain ':' or begin '#'")
    kept = []
    if path.exists():
        read_passwords(path)  # a file that cannot be read is not rewritten
        kept = [line for line in _lines(path) if line.rpartition(":")[0] != name]
    kept.append(f"{name}:{hash_password(password)}")
    fresh = path.with_name(path.name + ".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write("\n".join(kept) + "\n")
    fresh.replace(path)


def read_rules(path: Path) -> dict[str, User]:
    """The rules of each user: `[alice]`, `publish = [filters]`, `subscribe = [filters]`."""
    try:
        tables = tomllib.loads("\n".join(_lines(path)))
    except tomllib.TOMLDecodeError as error:
        raise CredentialsError(f"{path} is no TOML: {error}") from error
    return {name: _rules(path, name, table) for name, table in tables.items()}


def _rules(path: Path, name: str, table: object) -> User:
    if not isinstance(table, dict) or set(table) - {"publish", "subscribe"}:
        raise CredentialsError(
            f"{path}: [{name}] takes publish and subscribe, each a list of topic filters"
        )
    for key, rules in table.items():
        for rule in rules if isinstance(rules, list) else [rules]:
            if not isinstance(rules, list) or not isinstance(rule, str):
                raise CredentialsError(f"{path}: [{name}] {key} must be a list of topic filters")
            if not valid_filter(rule, 128):
                raise CredentialsError(f"{path}: [{name}] {key}: {rule!r} is no topic filter")
    return User(name, tuple(table.get("publish", ())), tuple(table.get("subscribe", ())))


class Credentials:
    """Lets in whoever has a password in the file, or a certificate that TLS verified."""

    def __init__(
        self,
        passwords: dict[str, tuple[bytes, bytes]],
        rules: dict[str, User] | None = None,
        *,
        certificates: bool = False,
    ) -> None:
        self._passwords = passwords
        self._rules = rules
        self._certificates = certificates
        self._secret = secrets.token_bytes(16)
        self._proved: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def user(self, name: str | None) -> User | None:
        """A user by name, with its rules (or those of `*`); without a rules file, no limits."""
        if self._rules is None:
            return User(name, unlimited=True)
        rules = self._rules.get(name or "") or self._rules.get(EVERYONE)
        if rules is None:
            return User(name, (), ())
        return User(name, rules.publish, rules.subscribe)

    def recall(self, user_name: str | None, password: bytes | None, peer: RemoteEnd) -> User | None:
        """The user that the certificate proves, or a password that was right before."""
        if self._certificates and peer.certificate_name is not None:
            matches = user_name in {None, peer.certificate_name}
            return self.user(peer.certificate_name) if matches else None
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
        if user_name is None or password is None:
            return None
        return self.user(user_name) if self._verify(user_name, password) else None

    def _quick(self, password: bytes) -> bytes:
        return hashlib.blake2b(password, key=self._secret, salt=b"quick").digest()

    def _verify(self, name: str, password: bytes) -> bool:
        """Compares hashes; a right password is recognized from then on without the slow one."""
        # An unknown user takes as long as a known one.
        salt, expected = self._passwords.get(name, (self._secret, b"\0" * SIZE))
        right = hmac.compare_digest(_scrypt(password, salt), expected) and name in self._passwords
        if right:
            with self._lock:
                if len(self._proved) >= REMEMBERED:
                    self._proved.clear()
                self._proved[name] = self._quick(password)
        return right

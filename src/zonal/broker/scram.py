"""SCRAM-SHA-256 (RFC 5802, RFC 7677): a client proves that it knows its password without saying it.

In MQTT it is an authentication method (MQTT 5, 4.12). The broker keeps two keys derived from the
password; neither they nor what is sent let anyone log in.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from typing import TYPE_CHECKING, NamedTuple

from zonal.broker import reason_codes
from zonal.errors import MqttError

if TYPE_CHECKING:
    from collections.abc import Callable

METHOD = "SCRAM-SHA-256"
ITERATIONS = 15_000
LONGEST = 2_000
FIRST = re.compile(
    r"(?P<head>[ny],(?:a=[^,]*)?,)(?P<bare>n=(?P<name>[^,]+),r=(?P<nonce>[!-+\--~]+))"
)
FINAL = re.compile(r"(?P<bare>c=(?P<head>[^,]+),r=(?P<nonce>[^,]+)),p=(?P<proof>[^,]+)")


class ScramKeys(NamedTuple):
    """What is kept of a password."""

    iterations: int
    salt: bytes
    stored: bytes
    server: bytes


def keys_of(password: bytes, salt: bytes | None = None, iterations: int = ITERATIONS) -> ScramKeys:
    """The keys to keep of a password."""
    salt = salt or secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password, salt, iterations)
    stored = hashlib.sha256(_mac(salted, b"Client Key")).digest()
    return ScramKeys(iterations, salt, stored, _mac(salted, b"Server Key"))


def _mac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


class ScramExchange:
    """One client's proof, from the server's side: `first`, then `final`.

    Args:
        look_up: the keys of a user; None for one that is not known.
        secret: makes up a salt for users that are not known, always the same.
        nonce: the server's part of the nonce.
    """

    def __init__(
        self, look_up: Callable[[str], ScramKeys | None], secret: bytes, nonce: str | None = None
    ) -> None:
        self._look_up = look_up
        self._secret = secret
        self._nonce = nonce or secrets.token_urlsafe(18)
        self._keys: ScramKeys
        self._head = ""
        self._said = ""
        self.user_name = ""

    def first(self, data: bytes | None) -> bytes:
        """Answers the client's first message with salt and iterations."""
        found = FIRST.fullmatch(_text(data))
        if found is None:
            raise _refused("no first message of SCRAM-SHA-256 without channel binding")
        self.user_name = found["name"].replace("=2C", ",").replace("=3D", "=")
        salt = _mac(self._secret, self.user_name.encode())[:16]
        unknown = ScramKeys(ITERATIONS, salt, b"", b"")
        self._keys = self._look_up(self.user_name) or unknown
        self._head = found["head"]
        self._nonce = found["nonce"] + self._nonce
        salt_text = base64.b64encode(self._keys.salt).decode()
        answer = f"r={self._nonce},s={salt_text},i={self._keys.iterations}"
        self._said = f"{found['bare']},{answer}"
        return answer.encode()

    def final(self, data: bytes | None) -> bytes:
        """Checks the client's proof, and answers with the server's."""
        found = FINAL.fullmatch(_text(data))
        if found is None or found["nonce"] != self._nonce:
            raise _refused("no last message of SCRAM-SHA-256")
        if _decoded(found["head"]) != self._head.encode():
            raise _refused("the channel binding differs")
        said = f"{self._said},{found['bare']}".encode()
        signature = _mac(self._keys.stored, said)
        proof = _decoded(found["proof"])
        key = bytes(a ^ b for a, b in zip(proof, signature, strict=False))
        known = hmac.compare_digest(hashlib.sha256(key).digest(), self._keys.stored or b"\0" * 32)
        if not known or len(proof) != len(signature):
            raise MqttError(reason_codes.NOT_AUTHORIZED, "user name or password is wrong")
        return b"v=" + base64.b64encode(_mac(self._keys.server, said))


def _text(data: bytes | None) -> str:
    if data is None or len(data) > LONGEST:
        raise _refused("no authentication data")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _refused("no text") from error


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _refused("no base64") from error


def _refused(what: str) -> MqttError:
    return MqttError(reason_codes.NOT_AUTHORIZED, f"authentication failed: {what}")

"""The part of a session whose position somebody vouches for."""

from __future__ import annotations

import logging
import time
from functools import cached_property
from typing import TYPE_CHECKING

import zenoh

from zonal.errors import AttestationError, ZonalError
from zonal.trust import Attestation, AttestationRequest, Holder, TrustedIssuers, check_zone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from zonal.runtime import Chores
    from zonal.session.followers import Followers
    from zonal.session.keyring import Keyring
    from zonal.session.position import Position

logger = logging.getLogger(__name__)

ATTEST = "@zonal/attest"
"""Under it, by name, attesters are asked."""
ANSWER_WITHIN_S = 5.0
_RENEW_AFTER = 2 / 3
_ASK_AGAIN_S = 2.0


class AttestationKeeper:
    """Renews an attested position before it expires."""

    def __init__(
        self, chores: Chores, request: Callable[[], Attestation], first: Attestation
    ) -> None:
        self._request = request
        self._rest_s = first.lifetime_s * _RENEW_AFTER
        self._chore = chores.new("renewing the attested position", self._renew)
        self._chore.due_in(self._rest_s)

    def _renew(self) -> float:
        try:
            self._rest_s = self._request().lifetime_s * _RENEW_AFTER
        except (ZonalError, zenoh.ZError) as error:
            logger.warning("the attested position was not renewed: %s", error)
            self._rest_s = min(_ASK_AGAIN_S, self._rest_s)
        except Exception:  # whatever the user's evidence raises
            logger.exception("the attested position was not renewed")
            self._rest_s = min(_ASK_AGAIN_S, self._rest_s)
        return self._rest_s

    def close(self) -> None:
        """Ask no more; waits for a question that is under way."""
        self._chore.end()


class Vouched:
    """Presents attested positions: its own, for fences and zones that demand one."""

    zenoh: zenoh.Session
    keyring: Keyring
    _chores: Chores
    _keeper: AttestationKeeper | None = None
    _position: Position
    _followers: Followers

    @property
    def subject(self) -> str:
        """Whom a token must name to count here: the session's Zenoh id."""
        return str(self.zenoh.zid())

    @cached_property
    def holder(self) -> Holder:
        """The key pair that this session's tokens are bound to, made when first needed."""
        return Holder()

    @property
    def attestation(self) -> Attestation | None:
        """The attested position that holds now."""
        found = self._position.attestation
        return found if found is not None and found.is_current(time.time()) else None

    def trust(self, keys: TrustedIssuers | Iterable[bytes]) -> None:
        """Whose word counts: public keys of attesters and of key services (raw, or PEM)."""
        self.keyring.issuers = keys if isinstance(keys, TrustedIssuers) else TrustedIssuers(keys)

    def present(self, token: bytes) -> Attestation:
        """Take a token for this session's attested position, until it expires.

        `AttestationError` where nobody trusted signed it, or it is somebody else's or too old. A
        session without a position is from now on in the middle of the token's cell.
        """
        found = self.keyring.issuers.verify(token, now=time.time(), subject=self.subject)
        self._position.attestation = found
        self.keyring.present(token, self.holder)
        if not self._position.is_known:
            self._position.declare(found.cell.center, float("inf"))
            self._followers.update()
        return found

    def request_attestation(
        self,
        attester: str,
        evidence: bytes | Callable[[], bytes] = b"",
        *,
        keep: bool = False,
        timeout: float = ANSWER_WITHIN_S,
    ) -> Attestation:
        """Ask an attester on the network (`zonal attest serve`) for a token, and present it.

        With `keep` it is asked again, with new evidence where that is a function, when two thirds
        of a token's lifetime are over; `AttestationError` only if the first is refused.
        """

        def request() -> Attestation:
            given = evidence() if callable(evidence) else evidence
            return self._request(attester, given, timeout)

        found = request()
        if keep:
            self.stop_requesting()
            self._keeper = AttestationKeeper(self._chores, request, found)
        return found

    def stop_requesting(self) -> None:
        """Ask for no more tokens."""
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None

    def _request(self, attester: str, evidence: bytes, timeout: float) -> Attestation:
        request = AttestationRequest(self.subject, self.holder.public_key, evidence)
        replies = self.zenoh.get(
            f"{ATTEST}/{check_zone(attester)}", payload=request.to_bytes(), timeout=timeout,
            target=zenoh.QueryTarget.ALL, consolidation=zenoh.ConsolidationMode.NONE,
        )  # fmt: skip
        reasons = []
        for reply in replies:
            if reply.ok is None:
                assert reply.err is not None
                reasons.append(reply.err.payload.to_bytes().decode(errors="replace")[:200])
                continue
            try:
                return self.present(reply.ok.payload.to_bytes())
            except AttestationError as error:
                reasons.append(str(error))
        raise AttestationError(
            f"attester {attester!r} vouches for nothing: {'; '.join(reasons) or 'no answer'}"
        )

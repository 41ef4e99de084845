"""What answers on the network for trust: attesters, and the key services of zones."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, TypeAlias

from zonal.errors import AttestationError, ZonalError
from zonal.geo import as_point
from zonal.session.keyring import KEYS
from zonal.session.unclosed import Closing
from zonal.session.vouching import ATTEST
from zonal.trust import (
    NO_HOLDER,
    AttestationRequest,
    answer_for,
    check_zone,
    read_question,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import zenoh

    from zonal.geo import GivenPoint
    from zonal.session.session import Session
    from zonal.trust import Attester, TrustedIssuers, Zone

    Locate: TypeAlias = Callable[[AttestationRequest], GivenPoint | None]

logger = logging.getLogger(__name__)

REFUSED = "refused"


class TrustService(Closing):
    """Answers questions under one key; what is refused is said in the log, not to the asker."""

    def __init__(self, session: Session, key: str) -> None:
        self.answered = 0
        self.refused = 0
        self._queryable = session.zenoh.declare_queryable(key, self._take)
        self._close_at_exit()

    def _take(self, query: zenoh.Query) -> None:
        asked = b"" if query.payload is None else query.payload.to_bytes()
        key = str(query.key_expr)
        with query:
            try:
                answers = self._answers(key, asked)
            except ZonalError as error:
                self.refused += 1
                logger.warning("%s: refused: %s", key, error)
                query.reply_err(REFUSED)
                return
            except Exception:  # whatever an operator's locating system raises
                self.refused += 1
                logger.exception("%s: could not be answered", key)
                query.reply_err(REFUSED)
                return
            self.answered += 1
            for answer in answers:
                query.reply(key, answer)

    def _answers(self, key: str, asked: bytes) -> list[bytes]:
        raise NotImplementedError

    def close(self) -> None:
        """Answer no more."""
        self._queryable.undeclare()


class AttestationService(TrustService):
    """Gives tokens to those whom the operator's locating system finds.

    Args:
        session: answers under `@zonal/attest/<name>`.
        attester: signs.
        locate: where somebody is who asks, or None. It is asked on a thread of its own, and it
            alone decides whether to believe who asks: by the holder's key, by the evidence.
        name: by which it is asked.
        lifetime_s: for how long a token holds.
    """

    def __init__(
        self,
        session: Session,
        attester: Attester,
        locate: Locate,
        *,
        name: str = "attester",
        lifetime_s: int = 60,
    ) -> None:
        self._attester = attester
        self._locate = locate
        self._lifetime_s = lifetime_s
        super().__init__(session, f"{ATTEST}/{check_zone(name)}")

    def _answers(self, key: str, asked: bytes) -> list[bytes]:
        request = AttestationRequest.from_bytes(asked)
        if request.holder == NO_HOLDER:
            raise AttestationError(f"{request.subject!r} names no key of its own")
        place = self._locate(request)
        if place is None:
            raise AttestationError(f"{request.subject!r} was not located")
        logger.info("%s: %s is attested", key, request.subject)
        return [
            self._attester.attest(
                request.subject, as_point(place), now=time.time(), lifetime_s=self._lifetime_s,
                holder=request.holder,
            )
        ]  # fmt: skip


class KeyService(TrustService):
    """Gives the present keys of zones to those who are attested to be inside, and to nobody else.

    Args:
        session: answers under `@zonal/keys/<zone>`.
        signer: signs the answers; those who ask must trust its public key.
        zones: areas and secrets.
        issuers: whose attested positions count.
    """

    def __init__(
        self, session: Session, signer: Attester, zones: Iterable[Zone], issuers: TrustedIssuers
    ) -> None:
        self._signer = signer
        self._issuers = issuers
        self._zones = {f"{KEYS}/{zone.name}": zone for zone in zones}
        super().__init__(session, f"{KEYS}/*")

    def _answers(self, key: str, asked: bytes) -> list[bytes]:
        zone = self._zones.get(key)
        if zone is None:
            raise AttestationError(f"{key!r} is no zone of ours")
        now = time.time()
        found = self._issuers.verify(read_question(asked), now=now, area=zone.area)
        logger.info("%s: a key for %s", key, found.subject)
        return [
            answer_for(each, found, asked, self._signer) for each in zone.keys_for_those_inside(now)
        ]

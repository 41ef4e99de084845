"""The keys of zones that a session has, and what it seals and opens with them."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

import zenoh

from zonal.errors import SealError, ZonalError
from zonal.session.sample import OpenedSample
from zonal.trust import (
    SEALED_ENCODING,
    EpochKey,
    TrustedIssuers,
    Zone,
    check_zone,
    open_payload,
    seal_payload,
    sealing_epoch,
    written_places,
)

if TYPE_CHECKING:
    from zonal.runtime import Chores
    from zonal.session.position import Position
    from zonal.session.sample import Sample
    from zonal.session.way import Way
    from zonal.trust import Holder

logger = logging.getLogger(__name__)

KEYS = "@zonal/keys"
"""Under it, by zone, key services are asked."""
ANSWER_WITHIN_S = 5.0
_EPOCHS_KEPT = 4
_ASK_AGAIN_S = 1.0


class Keyring:
    """Keys by zone and epoch; safe to use from several threads.

    A zone's secret gives all keys of the zone. Without it a key service gives that of the present
    epoch to whoever is attested to be inside; of a zone that was joined the next ones are asked for
    as epochs begin, for as long as an attested position holds.
    """

    def __init__(self, session: zenoh.Session, position: Position, chores: Chores) -> None:
        self._session = session
        self._position = position
        self.issuers = TrustedIssuers(())
        """Attesters and key services whose word counts."""
        self._lock = threading.Lock()
        self._zones: dict[str, Zone] = {}
        self._keys: dict[str, dict[int, EpochKey]] = {}
        self._token: tuple[bytes, Holder] | None = None
        self._joined: set[str] = set()
        self._chore = chores.new("renewing the keys of zones", self._renew)
        self.is_used = False
        """Whether anything can be opened at all."""
        self.opened_count = 0
        self.unopened_count = 0
        """Sealed messages that no key at hand opened: they are handed over sealed."""

    # Having keys

    def add_secret(self, zone: Zone) -> None:
        """All keys of a zone, by its secret."""
        with self._lock:
            self._zones[zone.name] = zone
            self.is_used = True

    def present(self, token: bytes, holder: Holder) -> None:
        """What proves that we are inside, and the key pair it is bound to."""
        with self._lock:
            self._token = (token, holder)

    def join(self, zone: str, *, timeout: float = ANSWER_WITHIN_S) -> EpochKey:
        """Get the present key of a zone that we are attested to be in, and its next ones in time.

        `SealError` where nobody gives it, with the reasons.
        """
        key = self._fetch(check_zone(zone), timeout)
        with self._lock:
            self._joined.add(zone)
        self._chore.due_within(self._until_next())
        return key

    def leave(self, zone: str) -> None:
        """Forget the keys of a zone, and ask for no more."""
        with self._lock:
            self._joined.discard(zone)
            self._keys.pop(zone, None)
            self._zones.pop(zone, None)
            self.is_used = bool(self._keys or self._zones)

    def _fetch(self, zone: str, timeout: float = ANSWER_WITHIN_S) -> EpochKey:
        with self._lock:
            presented = self._token
        if presented is None:
            raise SealError(f"zone {zone!r} is for attested positions, and we presented none")
        token, holder = presented
        question = holder.ask(token)
        got: list[EpochKey] = []
        reasons: list[str] = []
        for reply in self._session.get(
            f"{KEYS}/{zone}", payload=question, timeout=timeout, target=zenoh.QueryTarget.ALL,
            consolidation=zenoh.ConsolidationMode.NONE,
        ):  # fmt: skip
            if reply.ok is None:
                assert reply.err is not None
                reasons.append(reply.err.payload.to_bytes().decode(errors="replace")[:200])
                continue
            try:
                got.append(
                    holder.read_answer(
                        reply.ok.payload.to_bytes(), zone=zone, question=question,
                        services=self.issuers,
                    )
                )  # fmt: skip
            except SealError as error:
                reasons.append(str(error))
        if not got:
            raise SealError(f"no key of zone {zone!r}: {'; '.join(reasons) or 'no answer'}")
        self._add(got)
        return max(got, key=lambda key: key.epoch)

    def _add(self, keys: list[EpochKey]) -> None:
        with self._lock:
            for key in keys:
                of_zone = self._keys.setdefault(key.zone, {})
                of_zone[key.epoch] = key
                for epoch in sorted(of_zone)[:-_EPOCHS_KEPT]:
                    del of_zone[epoch]
            self.is_used = True

    def _renew(self) -> float | None:
        """The keys of joined zones, as epochs begin."""
        now = time.time()
        with self._lock:
            late = [zone for zone in self._joined if self._newest(zone) < self._due(zone, now)]
        for zone in late:
            try:
                self._fetch(zone)
            except (ZonalError, zenoh.ZError) as error:
                logger.info("the next key of zone %s: %s", zone, error)
        return self._until_next() if self._joined else None

    def _until_next(self) -> float:
        now = time.time()
        with self._lock:
            rests = []
            for zone in self._joined:
                for key in list(self._keys.get(zone, {}).values())[-1:]:
                    late = self._newest(zone) < self._due(zone, now)
                    rests.append(_ASK_AGAIN_S if late else key.epoch_s - now % key.epoch_s)
        return min(rests, default=_ASK_AGAIN_S) + 0.01

    def _newest(self, zone: str) -> int:
        return max(self._keys.get(zone, {}), default=-1)

    def _due(self, zone: str, now: float) -> int:
        epochs = [int(now // key.epoch_s) for key in self._keys.get(zone, {}).values()]
        return max(epochs, default=0)

    def close(self) -> None:
        """Forget all keys."""
        self._keys.clear()
        self._zones.clear()

    # Using them

    def seal(
        self, zone: str, payload: Any, encoding: Any, topic: str, way: Way
    ) -> tuple[bytes, str]:
        """A payload for those who have the zone's key of now, and its content encoding."""
        key = self._for_sealing(check_zone(zone))
        content = "" if encoding is None else str(encoding)
        if not content:
            content = "zenoh/string" if isinstance(payload, str) else "zenoh/bytes"
        plain = b"" if payload is None else zenoh.ZBytes(payload).to_bytes()
        places = written_places(way.location, way.fence)
        return seal_payload(key, plain, content, topic, places), SEALED_ENCODING

    def _for_sealing(self, zone: str) -> EpochKey:
        now = time.time()
        with self._lock:
            whole = self._zones.get(zone)
            if whole is not None:
                return whole.key_of(sealing_epoch(now, whole.epoch_s))
            held = [key for key in self._keys.get(zone, {}).values() if key.is_for_sealing(now)]
        if not held:
            raise SealError(
                f"there is no present key of zone {zone!r}: join it from inside, or add its secret"
            )
        return max(held, key=lambda key: key.epoch)

    def opened(self, sample: Sample) -> Sample:
        """The message, opened where it is sealed and a key at hand opens it; else as it is."""
        if not sample.is_sealed:
            return sample
        with contextlib.suppress(ZonalError):
            places = written_places(sample.location, sample.geofence)
            data = sample.zenoh.payload.to_bytes()
            payload, encoding = open_payload(data, sample.key, places, self._key_of)
            self.opened_count += 1
            return OpenedSample.of(sample, payload, encoding)
        self.unopened_count += 1
        return sample

    def _key_of(self, zone: str, epoch: int) -> bytes | None:
        with self._lock:
            whole = self._zones.get(zone)
            if whole is not None:
                return whole.key_of(epoch).key
            key = self._keys.get(zone, {}).get(epoch)
            return None if key is None else key.key

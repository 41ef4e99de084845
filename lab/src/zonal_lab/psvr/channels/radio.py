"""The radio model: log-distance path loss, slow fading, noise, interference and carrier sense.

Numbers are those of an IEEE 802.15.4 radio at 2.4 GHz; bit errors follow the O-QPSK formula that
the standard gives (annex E of IEEE 802.15.4-2006), with interference added to the noise.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal.mesh import Transmission

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_STEP = 0.25  # dB between entries of the error table
_LOWEST, _HIGHEST = -15.0, 15.0


@dataclass(frozen=True, slots=True)
class RadioConfig:
    """Powers in dBm, distances in metres, times in seconds."""

    power: float = 0.0
    loss_at_1m: float = 40.2
    exponent: float = 3.0
    shadowing: float = 4.0
    """Standard deviation in dB of what stands between two nodes for good."""
    fading: float = 2.0
    """Standard deviation in dB of what changes …"""
    coherence: float = 30.0
    """… with this time constant (slow fading)."""
    noise: float = -98.0
    sense: float = -85.0
    """Above this the medium counts as busy."""
    octet_time: float = 32e-6
    overhead: int = 17
    """Octets around each packet: preamble, frame header, checksum."""
    slot: float = 320e-6


def _bit_error(sinr_db: float) -> float:
    ratio = 10.0 ** (sinr_db / 10)
    total: float = sum(
        (-1.0) ** k * math.comb(16, k) * math.exp(20 * ratio * (1 / k - 1)) for k in range(2, 17)
    )
    return min(max(8 / 15 / 16 * total, 0.0), 0.5)


_LOG_GOOD = [
    math.log1p(-_bit_error(_LOWEST + i * _STEP))
    for i in range(int((_HIGHEST - _LOWEST) / _STEP) + 1)
]


def packet_ratio(sinr_db: float, octets: int) -> float:
    """The share of packets of this size that arrive at this signal to interference and noise."""
    if sinr_db >= _HIGHEST:
        return 1.0
    if sinr_db <= _LOWEST:
        return 0.0
    return math.exp(8 * octets * _LOG_GOOD[int((sinr_db - _LOWEST) / _STEP)])


@dataclass(slots=True, eq=False)
class _OnAir(Transmission):
    """A transmission with its size."""

    octets: int


class RadioChannel:
    """Nodes in the plane that share one medium."""

    measures = True

    def __init__(
        self,
        points: Mapping[int, tuple[float, float]],
        config: RadioConfig | None = None,
        seed: int = 0,
    ) -> None:
        self.points = dict(points)
        self.config = config or RadioConfig()
        self.rng = random.Random(seed)
        self.on_air: list[_OnAir] = []
        self.collisions = 0
        self._mean: dict[tuple[int, int], float] = {}
        self._drift: dict[tuple[int, int], tuple[float, float]] = {}
        self.audible: dict[int, list[int]] = {}
        self._lay()

    def _lay(self) -> None:
        """Path loss and shadowing of every pair; pairs that never hear each other are left out."""
        config, names = self.config, sorted(self.points)
        self.audible = {name: [] for name in names}
        floor = config.noise + _LOWEST - 3 * config.fading
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                distance = max(math.dist(self.points[a], self.points[b]), 1.0)
                loss = config.loss_at_1m + 10 * config.exponent * math.log10(distance)
                mean = config.power - loss + self.rng.gauss(0, config.shadowing)
                if mean >= floor:
                    self._mean[a, b] = self._mean[b, a] = mean
                    self.audible[a].append(b)
                    self.audible[b].append(a)

    def power(self, a: int, b: int, now: float) -> float:
        """Received power in dBm; slow fading is a Gauss–Markov process, advanced when asked."""
        mean = self._mean.get((a, b))
        if mean is None:
            return -math.inf
        config = self.config
        if not config.fading:
            return mean
        key = (a, b) if a < b else (b, a)
        since, value = self._drift.get(key, (-math.inf, 0.0))
        if now - since > config.coherence / 20:
            keep = math.exp(-(now - since) / config.coherence)
            value = keep * value + math.sqrt(1 - keep * keep) * self.rng.gauss(0, config.fading)
            self._drift[key] = (now, value)
        return mean + value

    def nodes(self) -> Sequence[int]:
        """All nodes."""
        return sorted(self.points)

    def defer(self, sender: int, now: float, attempt: int) -> float:
        """Carrier sense: a random wait where the medium is heard to be busy, growing each time."""
        sense = self.config.sense
        for other in self.on_air:
            if other.end > now and (
                other.sender == sender or self.power(other.sender, sender, now) > sense
            ):
                slots = 2.0 ** min(3 + attempt, 6)
                return max(other.end - now, 0.0) + self.config.slot * slots * self.rng.random()
        return 0.0

    def begin(
        self, sender: int, to: int | None, packet: object, now: float, octets: int
    ) -> Transmission:
        """The packet takes its time on the air."""
        size = octets + self.config.overhead
        end = now + size * self.config.octet_time
        sent = _OnAir(sender, to, packet, now, end, size)
        self.on_air = [other for other in self.on_air if other.end > now - 0.1]
        self.on_air.append(sent)
        return sent

    def receivers(self, sent: Transmission) -> Sequence[int]:
        """Who made it out of noise and of whatever else was on the air meanwhile."""
        assert isinstance(sent, _OnAir)
        others = [
            o for o in self.on_air if o is not sent and o.start < sent.end and o.end > sent.start
        ]
        around = self.audible[sent.sender] if sent.to is None else [sent.to]
        return [node for node in around if self._hears(node, sent, others)]

    def _hears(self, node: int, sent: _OnAir, others: Sequence[_OnAir]) -> bool:
        now = sent.end
        signal = self.power(sent.sender, node, now)
        noise = 10 ** (self.config.noise / 10)
        clean = noise
        for other in others:
            if other.sender == node:
                return False  # a radio that speaks does not hear
            noise += 10 ** (self.power(other.sender, node, now) / 10)
        luck = self.rng.random()
        if luck < packet_ratio(signal - 10 * math.log10(noise), sent.octets):
            return True
        if others and luck < packet_ratio(signal - 10 * math.log10(clean), sent.octets):
            self.collisions += 1
        return False

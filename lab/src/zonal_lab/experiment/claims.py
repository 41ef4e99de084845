"""Claims as functions of the data: what is claimed, an interval, and one of three verdicts.

A claim names a number and the range in which it must lie: its direction and its size. The number
is computed from the rounds of a run; drawn again from the same rounds with replacement (a
bootstrap), it gives an interval that 95 % of the draws lie in. The claim holds when all of the
interval lies in the range, does not hold when none does, and cannot be told otherwise, nor with
fewer than five rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

OURS = "ours"
"""The work of a figure that we set ourselves."""
LEAST_ROUNDS = 5
_DRAWS = 1000
_MOST_ROUNDS = 4096
_SEED = 20


class Unit(StrEnum):
    """How the number of a claim is written."""

    CHANGE = "{:+.1f} %"
    TIMES = "× {:.2f}"
    MS = "{:.2f} ms"
    MORE_MS = "{:+.2f} ms"
    SHARE = "{:.2f} %"
    POINTS = "{:+.2f} points"
    COUNT = "{:,.0f}"
    BYTES = "{:.1f} bytes"

    def write(self, value: float) -> str:
        """A number with this unit and a true minus sign."""
        return self.value.format(value).replace("-", "−")


class Draw:
    """Rounds as one draw picks them; equally long series are drawn alike, so pairs stay pairs.

    Args:
        draws: those it is one of; None: it picks every round once.
        number: which one.
    """

    def __init__(self, draws: Draws | None = None, number: int = 0) -> None:
        self._draws = draws
        self._number = number
        self.rounds = _MOST_ROUNDS
        """The fewest rounds of any series that was asked for."""

    def __call__(self, values: Sequence[float]) -> float:
        """The mean of the rounds' values; a `LookupError` where there is none."""
        if not len(values):
            raise LookupError("nothing was measured")
        if self._draws is not None:
            return float(self._draws.means(tuple(values[:_MOST_ROUNDS]))[self._number])
        series = np.asarray(values, dtype=np.float64)[:_MOST_ROUNDS]
        self.rounds = min(self.rounds, len(series))
        return float(series.mean())


class Draws:
    """Many draws of rounds: a series that all of them ask for is drawn for all at once."""

    def __init__(self) -> None:
        self._chances = np.random.default_rng(_SEED).random((_DRAWS, _MOST_ROUNDS))
        self._means: dict[tuple[float, ...], NDArray[np.float64]] = {}

    def __iter__(self) -> Iterator[Draw]:
        self._means.clear()  # of another claim
        return (Draw(self, number) for number in range(_DRAWS))

    def means(self, values: tuple[float, ...]) -> NDArray[np.float64]:
        """The mean of a series by each draw."""
        known = self._means.get(values)
        if known is None:
            count = len(values)
            picked = (self._chances[:, :count] * count).astype(np.int64)
            series = np.asarray(values, dtype=np.float64)
            known = self._means[values] = series[picked].mean(axis=1)
        return known


@dataclass(frozen=True)
class Claim:
    """What somebody says about a number.

    Attributes:
        work: the short name of the published work, or `OURS`.
        where: section, figure or table in it; for ours, what the figure is about.
        text: the claim in words, with its direction and size.
        theirs: their own number in words; empty where they give none.
        unit: how the number is written.
        figure: the number by a draw of the rounds; a `LookupError` where it was not measured.
        least: the claim holds from here on.
        most: … up to here.
        neutral: the number at which there is no effect; None where a direction alone says nothing.
        exact: the number does not come from chance, so that one round says all.
    """

    work: str
    where: str
    text: str
    theirs: str
    unit: Unit
    figure: Callable[[Draw], float]
    least: float = -inf
    most: float = inf
    neutral: float | None = None
    exact: bool = False


class Ruling(StrEnum):
    """The three verdicts."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "cannot be told"


@dataclass(frozen=True)
class Verdict:
    """A claim with its number here, its interval, and what follows."""

    claim: Claim
    ruling: Ruling
    value: float | None = None
    low: float = 0.0
    high: float = 0.0
    rounds: int = 0

    @property
    def ours(self) -> str:
        """The number with its interval and rounds in words."""
        if self.value is None:
            return "not measured"
        told = self.claim.unit.write(self.value)
        if self.claim.exact:
            return told
        if self.rounds < LEAST_ROUNDS:
            return f"{told} ({self.rounds} round{'s' * (self.rounds > 1)}, no interval)"
        unit = self.claim.unit
        return f"{told} ({unit.write(self.low)} to {unit.write(self.high)}; {self.rounds} rounds)"

    @property
    def words(self) -> str:
        """The verdict; whether at least the direction is as claimed, where its size is not."""
        if self.ruling is Ruling.FAILS and self._has_direction():
            return f"{self.ruling} (its direction does)"
        return str(self.ruling)

    def _has_direction(self) -> bool:
        neutral, claim = self.claim.neutral, self.claim
        if neutral is None:
            return False
        upward = claim.least >= neutral
        return self.low > neutral if upward else self.high < neutral


def judge(claims: Iterable[Claim]) -> Iterator[Verdict]:
    """A verdict on each claim."""
    draws = Draws()
    for claim in claims:
        yield _judged(claim, draws)


def _judged(claim: Claim, draws: Draws) -> Verdict:
    whole = Draw()
    try:
        value = claim.figure(whole)
    except LookupError:
        return Verdict(claim, Ruling.OPEN)
    if claim.exact:
        return Verdict(claim, _ruling(claim, value, value), value, value, value, whole.rounds)
    if whole.rounds < LEAST_ROUNDS:
        return Verdict(claim, Ruling.OPEN, value, value, value, whole.rounds)
    drawn = [claim.figure(draw) for draw in draws]
    low, high = (float(each) for each in np.percentile(drawn, (2.5, 97.5)))
    return Verdict(claim, _ruling(claim, low, high), value, low, high, whole.rounds)


def _ruling(claim: Claim, low: float, high: float) -> Ruling:
    if claim.least <= low and high <= claim.most:
        return Ruling.HOLDS
    if high < claim.least or low > claim.most:
        return Ruling.FAILS
    return Ruling.OPEN


def change(value: float, base: float) -> float:
    """By how much per cent a value differs from another; a `LookupError` when that is nothing."""
    if base == 0:
        raise LookupError("there is nothing to compare with")
    return 100 * (value - base) / base  # nothing but 0 for equals, however they are rounded

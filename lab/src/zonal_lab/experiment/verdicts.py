"""Claims, and whether the numbers of a run bear them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

OURS = "ours"
"""The source of a figure that we set ourselves."""


@dataclass(frozen=True)
class Verdict:
    """A claim, whether it holds here, and the numbers that say so."""

    source: str
    claim: str
    holds: bool
    because: str


def judged(judges: Iterable[Callable[[], Verdict]]) -> Iterator[Verdict]:
    """The verdicts whose runs are there: a judge that raises `LookupError` is left out."""
    for judge in judges:
        try:
            yield judge()
        except LookupError:
            continue


def change(value: float, base: float) -> str:
    """By how much per cent a value differs from another, with a sign."""
    if base == 0:
        return "from nothing"
    return f"{100 * value / base - 100:+.0f} %".replace("-", "−")


def changes(values: Mapping[Any, float], base: float) -> str:
    """Latencies in milliseconds, each with its change against another."""
    return ", ".join(
        f"{name} {value:.1f} ms ({change(value, base)})" for name, value in values.items()
    )

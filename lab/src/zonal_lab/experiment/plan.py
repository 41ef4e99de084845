"""What an experiment is going to do: cases, in an order in which nobody is always first."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeVar

from zonal_lab.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from dataclasses import Field
    from typing import Any

T = TypeVar("T")
Routers = Literal["library", "zenohd"]
"""What a plan has as Zenoh's routers: those of its Python library, or processes of `zenohd`."""


class Case(Protocol):
    """One thing that is run and kept by itself: a frozen dataclass of numbers and words."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def name(self) -> str:
        """Unlike that of any other case of the plan; it serves as a file name."""


class Plan(Protocol):
    """All cases of an experiment: a frozen dataclass of numbers, words and tuples of them.

    It is written into the manifest; results are continued by an equal plan only.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def seed(self) -> int:
        """What everything random follows from."""

    def cases(self) -> Iterator[Case]:
        """The cases, in the order in which they are run."""


def in_turn(items: Sequence[T], number: int) -> list[T]:
    """The items as the n-th round takes them: each round begins with another one."""
    shift = number % max(len(items), 1)
    return [*items[shift:], *items[:shift]]


def require_known(what: str, given: Sequence[T], known: Sequence[T]) -> None:
    """A `PlanError` unless something is given, and nothing that is not known."""
    unknown = [each for each in given if each not in known]
    if unknown or not given:
        listed = ", ".join(map(str, known))
        raise PlanError(f"unknown {what}: {unknown or 'none given'}; there are {listed}")


def words(text: str) -> tuple[str, ...]:
    """The comma-separated words of an option."""
    return tuple(each.strip() for each in text.split(",") if each.strip())


def numbers(text: str) -> tuple[int, ...]:
    """The comma-separated whole numbers of an option."""
    try:
        return tuple(int(each) for each in words(text))
    except ValueError as error:
        raise PlanError(f"{text!r} must be whole numbers with commas between them") from error

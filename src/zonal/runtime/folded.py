"""Items that are made whenever they are read, so that less waits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Folded(Sequence[T]):
    """Items that are made whenever they are read.

    What waits is smaller then, and the garbage collector does not look at it.
    """

    @property
    @abstractmethod
    def weight(self) -> int:
        """The bytes of all of them."""

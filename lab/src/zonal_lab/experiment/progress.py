"""A progress bar around an experiment that ends in order when it is interrupted."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from zonal_lab.emulation import ending_in_order, examine_machine

if TYPE_CHECKING:
    from collections.abc import Iterator


def in_words(seconds: float) -> str:
    """A duration for people."""
    minutes = max(round(seconds / 60), 1)
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours else f"{minutes} min"


class Tell(Protocol):
    """Says which case begins; its number (from 0) where cases are left out."""

    def __call__(self, description: str, number: int | None = None, /) -> None:
        """A case begins."""


@contextlib.contextmanager
def showing_progress(total: int, *, emulating: bool = True) -> Iterator[Tell]:
    """Check the machine, then show how many cases are done; call the result with each new one.

    A terminal gets a bar, a file or pipe a line for each case.
    """
    if emulating:
        examine_machine().require()
    console = Console()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with ending_in_order(), Progress(*columns, console=console) as progress:
        task = progress.add_task("starting", total=total)
        begun = 0

        def tell(description: str, number: int | None = None, /) -> None:
            nonlocal begun
            begun = begun if number is None else number
            progress.update(task, description=description, completed=begun)
            begun += 1
            if not console.is_terminal:
                print(f"{begun}/{total} {description}", flush=True)

        yield tell
        progress.update(task, description="done", completed=total)

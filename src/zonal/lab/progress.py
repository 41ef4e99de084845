"""A progress bar around an experiment that ends in order when it is interrupted."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from zonal.lab.machine import examine_machine
from zonal.lab.signals import ending_in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def showing_progress(total: int, *, emulating: bool = True) -> Iterator[Callable[[str], None]]:
    """Check the machine, then show how many cases are done; call the result with each new one."""
    if emulating:
        examine_machine().require()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with ending_in_order(), Progress(*columns) as progress:
        task = progress.add_task("starting", total=total)
        begun = 0

        def tell(description: str) -> None:
            nonlocal begun
            progress.update(task, description=description, completed=begun)
            begun += 1

        yield tell
        progress.update(task, description="done", completed=total)

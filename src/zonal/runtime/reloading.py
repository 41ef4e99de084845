"""Files that are read anew when they have changed, or when SIGHUP asks for it."""

from __future__ import annotations

import logging
import signal
import threading
from typing import TYPE_CHECKING, NamedTuple, Self

from zonal.errors import ZonalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

logger = logging.getLogger(__name__)

LOOK_S = 1.0
"""Seconds between two looks at the files."""

Prints = tuple[tuple[int, int, int] | None, ...]


class _Watched(NamedTuple):
    what: str
    files: tuple[Path, ...]
    reload: Callable[[], object]


class Reloads:
    """Has files read anew, in a thread of its own; use as a context manager.

    Whoever reads files registers what to do with `watch`. Where that raises a `ZonalError` or an
    `OSError`, this is logged, and what was in force stays in force.
    """

    def __init__(self, look_s: float = LOOK_S) -> None:
        self._look_s = look_s
        self._watched: list[tuple[_Watched, Prints]] = []
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._all = self._closed = False
        self._thread = threading.Thread(target=self._run, name="zonal-reloads", daemon=True)

    def watch(self, what: str, files: Iterable[Path], reload: Callable[[], object]) -> None:
        """Call `reload` when one of the files has changed; `what` is for the log."""
        watched = _Watched(what, tuple(files), reload)
        if watched.files:
            with self._lock:
                self._watched.append((watched, _prints(watched.files)))

    def ask(self) -> None:
        """Have everything read anew, soon; may be called by signal handlers."""
        self._all = True
        self._woken.set()

    def on_hangup(self) -> None:
        """Read everything anew on SIGHUP, which does not end the process any more."""
        signal.signal(signal.SIGHUP, lambda *_: self.ask())

    def close(self) -> None:
        """Look at nothing any more; safe to call twice."""
        self._closed = True
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        while not self._closed:
            self._woken.wait(self._look_s)
            self._woken.clear()
            if not self._closed:
                asked, self._all = self._all, False
                self._look(everything=asked)

    def _look(self, *, everything: bool) -> None:
        with self._lock:
            watched = list(enumerate(self._watched))
        for number, (each, before) in watched:
            now = _prints(each.files)
            if everything or now != before:
                with self._lock:
                    self._watched[number] = (each, now)
                _read_again(each)


def _read_again(each: _Watched) -> None:
    try:
        each.reload()
    except (ZonalError, OSError) as error:
        logger.error(  # noqa: TRY400 - what is wrong with a file needs no trace
            "%(what)s cannot be read anew, what was in force stays: %(reason)s",
            {"event": "not reloaded", "what": each.what, "reason": str(error)},
        )
    except Exception:
        logger.exception("%s cannot be read anew, what was in force stays", each.what)
    else:
        logger.info("%(what)s: read anew", {"event": "reloaded", "what": each.what})


def _prints(files: Iterable[Path]) -> Prints:
    """By what a change of each file is seen; None of one that is not there."""
    return tuple(map(_print, files))


def _print(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino

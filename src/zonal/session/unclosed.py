"""What nobody closed is closed before the interpreter ends.

A thread that comes back from Zenoh into an interpreter that is ending aborts the process. So open
sessions and routers are closed while Python still runs, after the exit handlers of the user, and
Zenoh's threads get a moment to leave what they are calling.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import time
import weakref
from typing import Self

from zonal.runtime import close_all, patience

_PATIENCE_S = 60.0
"""How long the interpreter's end waits for the network, however busy the machine is."""
_CALLBACK_PATIENCE_S = 5.0
"""How long for a callback that is still running."""
_LEAVING_S = 0.05
"""How long the last message of a closed session may be on its way into Python."""


_open: weakref.WeakSet[Closing] = weakref.WeakSet()
_any_was_open = threading.Event()


class Closing:
    """Something to close: as a context manager, plain or asynchronous, or with the interpreter."""

    __slots__ = ("__weakref__",)

    def _close_at_exit(self) -> None:
        """From now on it is open."""
        _open.add(self)
        _any_was_open.set()

    def close(self) -> None:
        """Close it; safe to call twice."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)  # which may wait for callbacks


@atexit.register
def _close_unclosed() -> None:
    if not _any_was_open.is_set():
        return
    patience.seconds = _CALLBACK_PATIENCE_S
    closings = [one.close for one in _open]
    thread = threading.Thread(target=close_all, args=(closings,), name="zonal-exit", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # Python 3.12 starts no threads any more
        close_all(closings)
    else:
        thread.join(_PATIENCE_S)
    time.sleep(_LEAVING_S)

"""How commands that run until they are stopped hear of it."""

from __future__ import annotations

import signal
import threading


def stop_event() -> threading.Event:
    """An event that SIGINT (Ctrl-C) and SIGTERM set, from now on, instead of ending the process."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop

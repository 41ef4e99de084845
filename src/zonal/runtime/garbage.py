"""How often a service looks for garbage."""

from __future__ import annotations

import gc


def collect_seldom() -> None:
    """Has the garbage collector look less often, and never at what is there from the start.

    For a process that is a service and nothing else: hardly anything that passes through it is
    garbage that needs the collector, and to look at all that waits or is kept takes long. A look
    at what is new stays below a turn of a broker's client.
    """
    gc.freeze()
    gc.set_threshold(2_000, 100, 100)

"""What everything that runs stands on: the way from foreign threads to user code, child processes.

`arrivals` (one queue, one reader) hands over what a network library's threads bring; `mailbox`
holds what waits for user code, `callbacks` runs it, `incoming` is what it iterates over; `recent`
remembers what was seen. Nothing here knows a place, a topic or a network.
"""

from zonal.runtime.arrivals import Arrivals, Lanes
from zonal.runtime.callbacks import Callback, CallbackThreads
from zonal.runtime.child_process import ChildProcess
from zonal.runtime.closing import close_all, patience
from zonal.runtime.foreign_thread import keep_state
from zonal.runtime.incoming import Incoming
from zonal.runtime.loopback import is_loopback
from zonal.runtime.mailbox import DEFAULT_CAPACITY, Mailbox, Overflow
from zonal.runtime.recent import Recent

__all__ = [
    "DEFAULT_CAPACITY",
    "Arrivals",
    "Callback",
    "CallbackThreads",
    "ChildProcess",
    "Incoming",
    "Lanes",
    "Mailbox",
    "Overflow",
    "Recent",
    "close_all",
    "is_loopback",
    "keep_state",
    "patience",
]

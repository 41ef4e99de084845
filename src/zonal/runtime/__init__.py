"""What everything that runs stands on: mailboxes, memories of what was seen, child processes.

Nothing here knows a place, a topic or a network.
"""

from zonal.runtime.child_process import ChildProcess
from zonal.runtime.lease import Lease
from zonal.runtime.loopback import is_loopback
from zonal.runtime.mailbox import DEFAULT_CAPACITY, Mailbox, Overflow
from zonal.runtime.recent import Recent

__all__ = [
    "DEFAULT_CAPACITY",
    "ChildProcess",
    "Lease",
    "Mailbox",
    "Overflow",
    "Recent",
    "is_loopback",
]

"""What everything that runs stands on: ways to user code, processes, configuration, log, figures.

`arrivals` (one queue, one reader) hands over what a network library's threads bring; `mailbox`
holds what waits for user code, `callbacks` runs it, `incoming` is what it iterates over; `chores`
have what is due at times done; `recent` remembers what was seen, `tally` counts what strangers do.
`settings_file`, `logs`, `metrics`, `reloading` and `garbage` are what services have. Nothing here
knows a place, a topic or Zenoh.
"""

from zonal.runtime.arrivals import Arrivals, Lanes
from zonal.runtime.callbacks import Callback, CallbackThreads
from zonal.runtime.child_process import ChildProcess
from zonal.runtime.chores import Chore, Chores
from zonal.runtime.closing import close_all, patience
from zonal.runtime.folded import Folded
from zonal.runtime.foreign_thread import keep_state
from zonal.runtime.garbage import collect_seldom
from zonal.runtime.incoming import Incoming
from zonal.runtime.logs import (
    LOG_FORMATS,
    LOG_LEVELS,
    SparingLog,
    configure_logging,
    without_passwords,
)
from zonal.runtime.loopback import is_loopback
from zonal.runtime.mailbox import DEFAULT_CAPACITY, HEAVY, Mailbox, Overflow
from zonal.runtime.metrics import (
    CONTENT_TYPE,
    Family,
    MetricsDoor,
    MetricsServer,
    counted,
    figures,
    figures_of,
)
from zonal.runtime.port import check_port
from zonal.runtime.recent import Recent
from zonal.runtime.reloading import Reloads
from zonal.runtime.settings_file import SettingsFile
from zonal.runtime.tally import Tally

__all__ = [
    "CONTENT_TYPE",
    "DEFAULT_CAPACITY",
    "HEAVY",
    "LOG_FORMATS",
    "LOG_LEVELS",
    "Arrivals",
    "Callback",
    "CallbackThreads",
    "ChildProcess",
    "Chore",
    "Chores",
    "Family",
    "Folded",
    "Incoming",
    "Lanes",
    "Mailbox",
    "MetricsDoor",
    "MetricsServer",
    "Overflow",
    "Recent",
    "Reloads",
    "SettingsFile",
    "SparingLog",
    "Tally",
    "check_port",
    "close_all",
    "collect_seldom",
    "configure_logging",
    "counted",
    "figures",
    "figures_of",
    "is_loopback",
    "keep_state",
    "patience",
    "without_passwords",
]

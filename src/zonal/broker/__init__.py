"""The geo broker: MQTT 5, 3.1.1 and 3.1 for any client, with places in user properties.

The way of a packet: a `link` takes bytes from a socket (`websocket` unpacks frames) and gives them,
when it has its turn (`turns`), to `core`, the machine without sockets or clock. `packet_reader`
cuts them into packets, with `packet_fields` and `version_311`; most messages take the short way of
`express`, which knows them by their `headings`. `handshake`, `authentication`, `publishing` and
`subscribing` say what a packet does, `handlers` which of them is called; all work on the broker's
`state`, which knows nothing of them. A message goes to `distribution`: it keeps it (`retained`),
finds out who gets it (`matching` asks the index, `receivers` makes one copy a client of the answer)
and gives it to each `session`, which queues it (`outgoing`, as far as the `ledger` has room) or
sends it through its `connection`; `message` makes the bytes, once for all. When the `journal`
(`sql_journal` in `store` or `postgres`, read again by `recovery`) has made changes last, `server`
writes them to the sockets.

Around this way: `listeners` are read from what the operator wrote, an `entrance` has what holds for
the connections of one, `access`, `credentials`, `scram`, `logins` and `throttle` say who is let in
and may do what, `rates` how fast, `geocontext` reads places in properties, `geotopics` those in
topics (with the operator's `zones`), `location_rules` those in payloads (by `payload_formats`),
`topics` knows names and filters, `watch` tells events at a border, `will`, `timers`, `settings`,
`counters` and `reason_codes` are what they are called. For the operator there are `diary`,
`figures` with `loads`, and `operation`. `federation` makes many brokers one over Zenoh, with
`interest`, `envelope`, `keymap`, `zenoh_encoding`, `retained_elsewhere` and `group_tokens`;
`sharing` does it over a database, both with `groups`. `bridge` is a client of two brokers.
`service` builds a whole broker from `Options`.
"""

from zonal.broker.access import RemoteEnd
from zonal.broker.bridge import Bridge, Carried, Placed
from zonal.broker.core import Broker
from zonal.broker.credentials import set_password
from zonal.broker.operation import ask_broker, control_folder
from zonal.broker.server import Server, steady_clock
from zonal.broker.service import Options, Service
from zonal.broker.settings import NEVER, Limits, Settings, read_limits

__all__ = [
    "NEVER",
    "Bridge",
    "Broker",
    "Carried",
    "Limits",
    "Options",
    "Placed",
    "RemoteEnd",
    "Server",
    "Service",
    "Settings",
    "ask_broker",
    "control_folder",
    "read_limits",
    "set_password",
    "steady_clock",
]

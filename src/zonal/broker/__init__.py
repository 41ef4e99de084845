"""The geo broker: MQTT 5 for any client, with places in user properties.

Protocol state is a machine without sockets (`Broker`); `Server` puts it on the network, `Service`
builds both from plain options.
"""

from zonal.broker.access import RemoteEnd
from zonal.broker.core import Broker
from zonal.broker.credentials import set_password
from zonal.broker.server import Server, SteadyClock
from zonal.broker.service import Options, Service
from zonal.broker.settings import Limits, Settings

__all__ = [
    "Broker",
    "Limits",
    "Options",
    "RemoteEnd",
    "Server",
    "Service",
    "Settings",
    "SteadyClock",
    "set_password",
]

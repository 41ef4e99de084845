"""The geo broker: MQTT 5 for any client, with places in user properties.

Protocol state is a machine without sockets (`Broker`); `Server` puts it on the network, `Service`
builds both from plain options.
"""

from zonal.broker.config import Limits, Settings
from zonal.broker.core import Broker
from zonal.broker.server import Clock, Server
from zonal.broker.service import Options, Service

__all__ = ["Broker", "Clock", "Limits", "Options", "Server", "Service", "Settings"]

"""The messaging systems that experiments compare, used as their manuals show.

- `nodes`: Zenoh's configuration and guarantees in an emulated network; `router`: the process of a
  stock Zenoh router; `zenohd`: Zenoh's own program as one.
- `brokers`: the commands that start Mosquitto and our geo broker.
- `certificates`: encrypted links; `mqtt`: a client of either broker; `local`: ports, a router,
  processor time and memory on this machine.
"""

from zonal_lab.systems.brokers import (
    BROKER_PORT,
    MOSQUITTO_PORT,
    PASSWORD,
    USER,
    geo_broker_command,
    mosquitto_command,
    mosquitto_version,
    write_passwords,
)
from zonal_lab.systems.certificates import encrypted_links
from zonal_lab.systems.local import cpu_seconds_of, free_port, resident_bytes, started_router
from zonal_lab.systems.mqtt import MqttEnd, join
from zonal_lab.systems.nodes import ROUTER, ZENOH_PORT, guarantees, node_config, node_settings
from zonal_lab.systems.zenohd import Zenohd, router_words, zenohd_version

__all__ = [
    "BROKER_PORT",
    "MOSQUITTO_PORT",
    "PASSWORD",
    "ROUTER",
    "USER",
    "ZENOH_PORT",
    "MqttEnd",
    "Zenohd",
    "cpu_seconds_of",
    "encrypted_links",
    "free_port",
    "geo_broker_command",
    "guarantees",
    "join",
    "mosquitto_command",
    "mosquitto_version",
    "node_config",
    "node_settings",
    "resident_bytes",
    "router_words",
    "started_router",
    "write_passwords",
    "zenohd_version",
]

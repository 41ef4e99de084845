"""Carries messages between two MQTT brokers: `python -m zonal_lab.latency.roles.bridge`.

As in scenario γ of Barón 2024 (5.2.3), where one host is broker and bridge client at once.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from zonal_lab.emulation import EndRole, serve
from zonal_lab.errors import EmulationError
from zonal_lab.latency.ends import TOPICS
from zonal_lab.systems import join

if TYPE_CHECKING:
    from zonal_lab.emulation import Answer

_PATIENCE_S = 20.0


class BridgeRole(EndRole):
    """Two paho clients; what one hears the other publishes."""

    def __init__(self) -> None:
        super().__init__()
        self._clients: list[paho.Client] = []

    def orders(self) -> dict[str, Answer]:
        """Open: connect to both brokers."""
        return {"open": self._open}

    def _open(self, brokers: list[tuple[str, int]], qos: int) -> dict[str, Any]:
        self._clients = [paho.Client(CallbackAPIVersion.VERSION2) for _ in brokers]
        for topic, client, other in zip(TOPICS, self._clients, self._clients[::-1], strict=True):
            self._cross(client, other, topic, qos)
        for client, (host, port) in zip(self._clients, brokers, strict=True):
            self._join(client, host, port)
        return {}

    def _cross(self, client: paho.Client, other: paho.Client, topic: str, qos: int) -> None:
        def subscribe(*_: Any) -> None:
            client.subscribe(topic, qos)

        def carry(_client: paho.Client, _data: Any, message: paho.MQTTMessage) -> None:
            other.publish(message.topic, message.payload, qos)

        client.on_connect = subscribe
        client.on_message = carry

    def _join(self, client: paho.Client, host: str, port: int) -> None:
        ready = threading.Event()
        client.on_subscribe = lambda *_: ready.set()
        join(client, host, port)
        client.loop_start()
        if not ready.wait(_PATIENCE_S):
            raise EmulationError(f"{host}:{port} acknowledged no subscription of the bridge")

    def close(self) -> dict[str, Any]:
        """Leave both brokers."""
        for client in self._clients:
            client.disconnect()
            client.loop_stop()
        self._clients = []
        return {}


if __name__ == "__main__":
    serve(BridgeRole())

"""An MQTT client on paho, for Mosquitto without places and for the geo broker with them."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from zonal_lab.errors import EmulationError
from zonal_lab.systems.brokers import PASSWORD, USER

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.geo import Point

_PATIENCE_S = 20.0


def join(client: paho.Client, host: str, port: int, properties: Properties | None = None) -> None:
    """Connect; a broker that is still starting is asked again."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            client.connect(host, port, keepalive=60, properties=properties)
        except OSError as error:
            if time.monotonic() > deadline:
                raise EmulationError(f"no broker at {host}:{port}: {error}") from error
            time.sleep(0.1)
        else:
            return


class MqttEnd:
    """A paho client with its network thread, connected and subscribed.

    Args:
        broker: the broker's host and port.
        hear: is called with each payload, on the network thread.
        to: the topic that `send` publishes to.
        back: the topic that is subscribed.
        at: where the client is, and the centre of its geofences.
        reach_m: the radius of its geofences.
        qos: of messages and of the subscription.
        geo: whether the broker is told of places (MQTT 5), or never (MQTT 3.1.1).
    """

    def __init__(
        self,
        broker: tuple[str, int],
        hear: Callable[[bytes], None],
        to: str,
        back: str,
        at: Point,
        reach_m: float,
        *,
        qos: int,
        geo: bool,
    ) -> None:
        self._to, self._back, self._qos = to, back, qos
        self._hear = hear
        self._geo = geo
        # The programs of Barón 2024 speak MQTT 3.1.1, paho's default; places need MQTT 5.
        version = paho.MQTTv5 if self._geo else paho.MQTTv311
        self._client = paho.Client(CallbackAPIVersion.VERSION2, protocol=version)
        self._client.username_pw_set(USER, PASSWORD)
        self._fence = f"CIRCLE ({at.lon} {at.lat}, {reach_m})"
        self._publish_with = self._place(PacketTypes.PUBLISH, geofence=self._fence)
        self._client.on_message = lambda _client, _data, message: self._hear(bytes(message.payload))
        self._connect(*broker, f"{at.lat},{at.lon}")

    def _place(self, kind: int, **places: str) -> Properties | None:
        """User properties with places, for the geo broker."""
        if not self._geo:
            return None
        properties = Properties(kind)  # type: ignore[no-untyped-call] # paho's
        properties.UserProperty = list(places.items())
        return properties

    def _connect(self, host: str, port: int, location: str) -> None:
        ready = threading.Event()
        self._client.on_subscribe = lambda *_: ready.set()
        self._client.on_connect = lambda *_: self._subscribe()
        join(self._client, host, port, self._place(PacketTypes.CONNECT, location=location))
        self._client.loop_start()
        if not ready.wait(_PATIENCE_S):
            self.close()
            raise EmulationError(f"{host}:{port} acknowledged no subscription")

    def _subscribe(self) -> None:
        if self._geo:
            options = SubscribeOptions(qos=self._qos)
            wish = self._place(PacketTypes.SUBSCRIBE, geofence=self._fence)
            self._client.subscribe(self._back, options=options, properties=wish)
        else:
            self._client.subscribe(self._back, self._qos)

    def send(self, payload: bytes) -> None:
        """One publish."""
        self._client.publish(self._to, payload, self._qos, properties=self._publish_with)

    def close(self) -> None:
        """Disconnect and end the network thread."""
        self._client.disconnect()
        self._client.loop_stop()

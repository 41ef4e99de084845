"""OwnTracks: phones that tell their place to an MQTT broker; by paho-mqtt."""

from __future__ import annotations

import json
import queue
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from zonal.errors import FeedError
from zonal.feeds.observation import Observation, chunk, known, moment_of, place_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

_TOPICS = "owntracks/+/+"
_LOOK_S = 0.5
_KMH_M_S = 1 / 3.6


def read_owntracks(topic: str, payload: bytes) -> Observation | None:
    """A location message, under `user/device`; None for OwnTracks' other messages and for others'.

    See https://owntracks.org/booklet/tech/json/.
    """
    try:
        said = json.loads(payload)
    except ValueError:
        return None
    if not isinstance(said, dict) or said.get("_type") != "location":
        return None
    place = place_of(said.get("lat"), said.get("lon"))
    if place is None:
        return None
    user, _, device = topic.removeprefix("owntracks/").partition("/")
    speed = said.get("vel")
    value = known(
        id=said.get("tid") or device,
        kind="phone",
        accuracy_m=said.get("acc"),
        altitude_m=said.get("alt"),
        speed_m_s=None if speed is None else round(speed * _KMH_M_S, 2),
        heading=said.get("cog"),
        battery=said.get("batt"),
    )
    return Observation(f"{chunk(user)}/{chunk(device)}", place, value, moment_of(said.get("tst")))


def listen_owntracks(address: str, stop: threading.Event) -> Iterator[Observation]:
    """What phones tell the broker at `mqtt://[user:password@]host[:port]`, until it is stopped.

    paho connects again by itself, waiting longer each time.
    """
    import paho.mqtt.client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion

    parts = urlsplit(address)
    if parts.scheme not in {"mqtt", "mqtts"} or not parts.hostname:
        raise FeedError(f"OwnTracks is heard at mqtt://host:1883 or mqtts://…, not {address!r}")
    arrived: queue.Queue[Observation] = queue.Queue(10_000)
    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    if parts.username:
        client.username_pw_set(unquote(parts.username), unquote(parts.password or ""))
    if parts.scheme == "mqtts":
        client.tls_set()

    def connected(of: Any, *_: Any) -> None:
        of.subscribe(_TOPICS, qos=1)

    def heard(_: Any, __: Any, message: Any) -> None:
        if (seen := read_owntracks(message.topic, message.payload)) is not None:
            arrived.put(seen)

    client.on_connect, client.on_message = connected, heard
    try:
        client.connect(parts.hostname, parts.port or (8883 if parts.scheme == "mqtts" else 1883))
    except OSError as error:
        raise FeedError(f"cannot reach {address}: {error}") from error
    client.loop_start()
    try:
        while not stop.is_set():
            try:
                yield arrived.get(timeout=_LOOK_S)
            except queue.Empty:
                continue
    finally:
        client.disconnect()
        client.loop_stop()

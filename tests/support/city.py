"""The city of docs/security.md, made by the commands of that page, on free ports of loopback."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import zenoh
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

import zonal
from command_line import environment
from events import EventReader
from network import eventually
from zonal.session import Security, Session

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
SETUP, SERVICES, USES = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
_PORTS = ("7447", "8883", "8443")
_STARTED = {
    "router": "Stock Zenoh router", "broker": "serving", "serve": "REST",
    "record": "recording into", "store": "keeping", "history": "answering queries",
}  # fmt: skip
_KEEPERS = ("zonal record log 'city/**' --flush 0.1", "zonal store 'city/**' --data things")


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


@dataclass(frozen=True)
class City:
    """The folder of its files, and where its doors are."""

    folder: Path
    zenoh_port: int
    mqtt_port: int
    other_mqtt_port: int
    web_port: int
    variables: dict[str, str]
    """The environment of its commands."""

    @classmethod
    def of(cls, folder: Path) -> City:
        """The city whose files are in a folder."""
        return cls(folder, *json.loads((folder / "ports.json").read_text()), variables={})

    @property
    def url(self) -> str:
        return f"https://localhost:{self.web_port}"

    @property
    def trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.folder / "city.pem")

    @property
    def token(self) -> str:
        return (self.folder / "anna.token").read_text().strip()

    def password(self, user: str) -> str:
        lines = (self.folder / "users").read_text().splitlines()
        return dict(line.split(":") for line in lines)[user]

    @property
    def log(self) -> str:
        """What all services wrote."""
        return "".join(path.read_text() for path in self.folder.glob("*.log"))

    def zenoh_config(self, user: str | None, password: str | None = None, **more: Any) -> Any:
        security = Security(
            ca=self.folder / "city.pem",
            user=user,
            password=user and (password or self.password(user)),
        )
        endpoint = f"tls/localhost:{self.zenoh_port}"
        return zonal.config("client", **{"connect": [endpoint], "security": security, **more})

    def session(self, user: str) -> Session:
        return zonal.open(self.zenoh_config(user))

    def plain_session(self, user: str) -> zenoh.Session:
        return zenoh.open(self.zenoh_config(user))

    def reader(self, path: str) -> EventReader:
        """anna's stream of events."""
        return EventReader(f"{self.url}{path}", self.token, self.trusted)

    @contextmanager
    def device(
        self, user: str | None, password: str | None = None, *, port: int | None = None
    ) -> Iterator[Device]:
        device = Device(self, user, password, port or self.mqtt_port)
        try:
            yield device
        finally:
            device.close()


class Device:
    """An MQTT 5 client over TLS; keeps the codes that it was answered with, and what it heard."""

    def __init__(self, city: City, user: str | None, password: str | None, port: int) -> None:
        self.codes: list[str] = []
        self.heard: list[tuple[str, bytes]] = []
        self._client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
        self._client.tls_set_context(city.trusted)
        if user is not None:
            self._client.username_pw_set(user, password or city.password(user))
        self._client.on_connect = lambda *given: self.codes.append(str(given[3]))
        self._client.on_subscribe = lambda *given: self.codes.extend(map(str, given[3]))
        self._client.on_publish = lambda *given: self.codes.append(str(given[3]))
        self._client.on_message = lambda _, __, message: self.heard.append(
            (message.topic, message.payload)
        )
        self._client.connect("localhost", port)
        self._client.loop_start()
        eventually(lambda: self.codes, 60)

    @property
    def is_in(self) -> bool:
        return self.codes[0] == "Success"

    def publish(self, topic: str, payload: bytes, **properties: str) -> str:
        """The broker's answer."""
        told = Properties(PacketTypes.PUBLISH)
        told.UserProperty = list(properties.items())
        return self._answer(lambda: self._client.publish(topic, payload, qos=1, properties=told))

    def subscribe(self, topic: str, **properties: str) -> str:
        told = Properties(PacketTypes.SUBSCRIBE)
        told.UserProperty = list(properties.items())
        return self._answer(lambda: self._client.subscribe(topic, 1, properties=told))

    def _answer(self, act: Any) -> str:
        before = len(self.codes)
        act()
        eventually(lambda: len(self.codes) > before, 60)
        return self.codes[-1]

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


@contextmanager
def built(folder: Path) -> Iterator[City]:
    """Runs the page's commands; everything ends with the block."""
    *ports, other = free_ports(4)
    shim = folder / "bin" / "zonal"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m zonal "$@"\n')
    shim.chmod(0o755)
    variables = environment() | {"PYTHONUNBUFFERED": "1"}
    variables["PATH"] = f"{shim.parent}:{os.environ['PATH']}"

    def here(commands: str) -> str:
        for port, free in zip(_PORTS, ports, strict=True):
            commands = commands.replace(port, str(free))
        return commands.replace("0.0.0.0", "127.0.0.1")

    subprocess.run(
        ["bash", "-eo", "pipefail", "-c", here(SETUP)], cwd=folder, env=variables, check=True,
        capture_output=True, timeout=120,
    )  # fmt: skip
    second = f"zonal broker --tls-port {other} --data broker-2"
    with ExitStack() as stack:

        def start(command: str) -> Callable[[], None]:
            words = shlex.split(command)
            path = folder / f"{len(list(folder.glob('*.log')))}-{words[1]}.log"
            log = stack.enter_context(path.open("w"))
            process = subprocess.Popen(
                words, cwd=folder, env=variables, stdout=log, stderr=subprocess.STDOUT
            )
            stack.callback(_end, process)

            def wait() -> None:
                eventually(
                    lambda: process.poll() is not None or _STARTED[words[1]] in path.read_text(), 60
                )
                assert process.poll() is None, path.read_text()

            return wait

        router, *others = SERVICES.splitlines()
        start(router)()
        for wait in [start(each) for each in (*others, second, *_KEEPERS)]:
            wait()
        start("zonal history 'city/**' --log log --serve")()
        (folder / "ports.json").write_text(json.dumps([*ports[:2], other, ports[2]]))
        yield City(folder, ports[0], ports[1], other, ports[2], variables)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()

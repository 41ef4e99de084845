"""Real clients, unchanged, against a broker in its own process."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import aiomqtt
import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from broker_process import BrokerProcess
from certificates import Authority
from mosquitto_clients import Listening

mosquitto = pytest.mark.skipif(
    shutil.which("mosquitto_pub") is None, reason="mosquitto-clients is not installed"
)


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerProcess]:
    with BrokerProcess("--websocket-port", "0", "--sys-interval", "0.2") as process:
        yield process


def run(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=check)


@mosquitto
@pytest.mark.parametrize("version", ["5", "311"])
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_mosquitto_clients(broker: BrokerProcess, version: str, qos: str) -> None:
    """3.1.1/MQTT-7.0.0-2."""
    topic = f"m/{version}/{qos}"
    listening = Listening(
        broker.port, "-V", version, "-q", qos, "-t", f"{topic}/#", "-C", "2", "-v"
    )
    publish = ["mosquitto_pub", "-p", str(broker.port), "-V", version, "-q", qos]
    run(*publish, "-t", f"{topic}/a", "-m", "one")
    run(*publish, "-t", f"{topic}/b", "-m", "two")
    assert listening.finish() == [f"{topic}/a one", f"{topic}/b two"]


@mosquitto
def test_mosquitto_request_and_response(broker: BrokerProcess) -> None:
    listening = Listening(broker.port, "-V", "5", "-t", "rr/ask", "-C", "1", "-F", "%R %D %p")
    asking = subprocess.Popen(
        ["mosquitto_rr", "-p", str(broker.port), "-V", "5", "-t", "rr/ask", "-e", "rr/answer",
         "-m", "how warm?", "-W", "15"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert listening.finish()[0].startswith("rr/answer")
    run("mosquitto_pub", "-p", str(broker.port), "-V", "5", "-t", "rr/answer", "-m", "21")
    out, _ = asking.communicate(timeout=20)
    assert out.strip() == "21"


@mosquitto
def test_figures_are_there_to_see(broker: BrokerProcess) -> None:
    out = run(
        "mosquitto_sub", "-p", str(broker.port), "-t", "$SYS/broker/version", "-C", "1", "-W", "10"
    ).stdout
    assert out.startswith("zonal")


@mosquitto
def test_mqtt_31_is_served(broker: BrokerProcess) -> None:
    listening = Listening(broker.port, "-V", "31", "-i", "older", "-t", "old/31", "-C", "1")
    run("mosquitto_pub", "-p", str(broker.port), "-V", "31", "-t", "old/31", "-m", "b", "-q", "1")
    assert listening.finish() == ["b"]


def paho_client(name: str, **options: object) -> paho.Client:
    return paho.Client(
        CallbackAPIVersion.VERSION2, name, protocol=MQTTProtocolVersion.MQTTv5,
        **options,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize("transport", ["tcp", "websockets"])
def test_paho(broker: BrokerProcess, transport: str) -> None:
    ready, got = threading.Event(), threading.Event()
    seen: list[paho.MQTTMessage] = []
    client = paho_client(f"paho-{transport}", transport=transport)
    client.on_subscribe = lambda *_: ready.set()

    def on_message(_client: object, _data: object, message: paho.MQTTMessage) -> None:
        seen.append(message)
        got.set()

    client.on_message = on_message
    client.on_connect = lambda *_: client.subscribe(f"paho/{transport}", 2)
    client.connect("127.0.0.1", broker.ports["ws" if transport == "websockets" else "mqtt"])
    client.loop_start()
    try:
        assert ready.wait(10)
        properties = Properties(PacketTypes.PUBLISH)
        properties.UserProperty = ("location", "45.46,9.19")
        client.publish(
            f"paho/{transport}", b"x" * 50_000, qos=2, properties=properties
        ).wait_for_publish(10)
        assert got.wait(10)
    finally:
        client.disconnect()
        client.loop_stop()
    assert seen[0].payload == b"x" * 50_000
    assert seen[0].properties is not None
    assert seen[0].properties.UserProperty == [("location", "45.46,9.19")]


async def test_aiomqtt(broker: BrokerProcess) -> None:
    async with (
        asyncio.timeout(15),
        aiomqtt.Client("127.0.0.1", broker.port, protocol=aiomqtt.ProtocolVersion.V5) as client,
    ):
        await client.subscribe("aio/#", qos=1)
        await client.publish("aio/x", "hello", qos=1)
        async for message in client.messages:
            assert (message.topic.value, message.payload) == ("aio/x", b"hello")
            break


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA, a server's and a client's certificate."""
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority(folder)
    for name in ("server", "car-7"):
        authority.issue(name)
    return folder


@pytest.fixture(scope="module")
def guarded(
    certificates: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    """A broker that knows alice by password and car-7 by certificate."""
    folder = tmp_path_factory.mktemp("users")
    passwords, rules = folder / "passwords", folder / "rules.toml"
    from zonal.broker import set_password

    set_password(passwords, "alice", b"secret")
    rules.write_text(
        '[[rule]]\nwho = "alice"\nallow = "publish"\ntopics = "a/#"\n'
        '[[rule]]\nwho = "alice"\nallow = "subscribe"\ntopics = ["a/#", "b/+"]\n'
        '[[rule]]\nwho = "*"\nallow = ["publish", "subscribe"]\ntopics = "own/%u/#"\n'
    )
    pem = {name: str(certificates / name) for name in ("server.pem", "server.key", "ca.pem")}
    with BrokerProcess(
        "--tls-port", "0", "--secure-websocket-port", "0", "--certificate", pem["server.pem"],
        "--key", pem["server.key"], "--client-ca", pem["ca.pem"], "--passwords", str(passwords),
        "--rules", str(rules),
    ) as process:  # fmt: skip
        yield process


@mosquitto
def test_passwords_and_rules(guarded: BrokerProcess) -> None:
    publish = ["mosquitto_pub", "-p", str(guarded.port), "-V", "5", "-q", "1", "-m", "x"]
    assert run(*publish, "-t", "a/1", "-u", "alice", "-P", "secret").returncode == 0
    wrong = run(*publish, "-t", "a/1", "-u", "alice", "-P", "wrong", check=False)
    assert "bad user name or password" in (wrong.stderr + wrong.stdout).lower()
    nobody = run(*publish, "-t", "a/1", check=False)
    assert "not authorized" in (nobody.stderr + nobody.stdout).lower()
    elsewhere = run(*publish, "-t", "c", "-u", "alice", "-P", "secret", "-d", check=False)
    assert "RC:135" in elsewhere.stdout, elsewhere


@mosquitto
def test_a_client_certificate_names_the_user(guarded: BrokerProcess, certificates: Path) -> None:
    tls = [
        "-h", "localhost", "-p", str(guarded.ports["mqtts"]), "-V", "5", "--cafile",
        str(certificates / "ca.pem"), "--cert", str(certificates / "car-7.pem"), "--key",
        str(certificates / "car-7.key"),
    ]  # fmt: skip
    run("mosquitto_pub", *tls, "-q", "1", "-t", "own/car-7/x", "-m", "hi", "-r")
    out = run("mosquitto_sub", *tls, "-t", "own/car-7/#", "-C", "1", "-W", "10").stdout
    assert out.strip() == "hi"
    refused = run("mosquitto_sub", *tls, "-t", "own/alice/#", "-W", "2", check=False)
    assert "denied" in refused.stderr


def test_secure_websockets_with_a_password(guarded: BrokerProcess, certificates: Path) -> None:
    client = paho_client("wss", transport="websockets")
    client.tls_set_context(ssl.create_default_context(cafile=str(certificates / "ca.pem")))
    client.username_pw_set("alice", "secret")
    connected = threading.Event()
    codes: list[int] = []

    def on_connect(*arguments: object) -> None:
        codes.append(arguments[3].value)  # type: ignore[attr-defined]
        connected.set()

    client.on_connect = on_connect
    client.connect("localhost", guarded.ports["wss"])
    client.loop_start()
    try:
        assert connected.wait(10)
    finally:
        client.disconnect()
        client.loop_stop()
    assert codes == [0]


def test_without_credentials_only_loopback_is_served() -> None:
    with pytest.raises(RuntimeError, match="only loopback is served"):
        BrokerProcess("--host", "0.0.0.0").start()


def test_a_broker_stops_on_sigterm(broker: BrokerProcess) -> None:
    with BrokerProcess() as own:
        own.process.terminate()
        assert own.process.wait(10) == 0
    assert broker.process.poll() is None

"""What an operator sees and does: log, figures, control socket, further listeners."""

from __future__ import annotations

import asyncio
import json
import logging
import stat
import subprocess
import sys
from pathlib import Path

import mqtt5
import pytest

from broker_bench import Bench
from broker_process import BrokerProcess
from broker_wire import Wire
from zonal.broker import Options, Service, Settings, ask_broker, control_folder
from zonal.broker.access import RemoteEnd
from zonal.broker.loads import Loads
from zonal.cli.broker_status import draw_map
from zonal.errors import BrokerError
from zonal.runtime import MetricsDoor


def test_the_log_says_who_came_went_and_was_refused(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "zonal.broker")
    bench = Bench()
    client = bench.client(RemoteEnd("10.0.0.9"))
    client.connect("phone\n1", keep_alive=7)
    client.publish("$SYS/x", b"", 1)
    client.packets()
    client.subscribe("a#")
    client.send(mqtt5.DisconnectPacket())
    bench.connected("lost").hang_up()
    bad = bench.connected("bad")
    bad.send_bytes(b"\0\0")
    refused = bench.client(RemoteEnd("10.0.0.8"))
    refused.send(mqtt5.ConnectPacket("x", authentication_method="magic"))
    text = caplog.text
    assert r"'phone\n1' connected from 10.0.0.9, user None, MQTT 5, keep-alive 7 s" in text
    assert r"'phone\n1': publication refused: 0x87" in text
    assert r"'phone\n1': subscription refused: 0x8f" in text
    assert r"'phone\n1' left: DISCONNECT 0x00" in text
    assert "'lost' left: the connection was lost" in text
    assert "'bad' is disconnected: 0x81 packet type 0" in text
    assert "a connection from 10.0.0.8 is refused" in text
    assert "'magic' is not offered" in text


def test_a_flood_of_visitors_does_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "zonal.broker")
    bench = Bench()
    for number in range(500):
        bench.connected(f"c{number}").hang_up()
    assert len(caplog.records) <= 201
    bench.now += 10
    bench.connected("last")
    assert "800 lines like the next were not written" in caplog.text


def test_all_figures_are_there_as_topics() -> None:
    bench = Bench(Settings(sys_interval=5))
    client = bench.connected("a")
    client.subscribe("$SYS/#")
    bench.wait(6)
    got = {m.topic.removeprefix("$SYS/broker/"): m.payload for m in client.messages()}
    for name in ("store/messages/bytes", "clients/maximum", "load/messages/received/15min",
                 "connections/refused", "retained messages/bytes", "uptime"):  # fmt: skip
        assert name in got


def test_loads_follow_what_happens() -> None:
    loads = Loads(0.0)
    for second in range(10, 3610, 10):
        found = dict(loads.update({"m": second * 2}, float(second)))
    assert float(found["load/m/1min"]) == pytest.approx(120, abs=1)
    assert 110 < float(found["load/m/15min"]) < 120


async def test_an_operator_sees_and_kicks_clients(tmp_path: Path) -> None:
    options = Options(
        port=0,
        control=tmp_path,
        metrics=MetricsDoor("127.0.0.1", 0),
        listeners=("mqtt://127.0.0.1:0",),
    )
    async with Service(options) as service:
        second = service.ports["mqtt://127.0.0.1:0"]
        one = await Wire.connected(service.ports["mqtt"], "one", "t")
        _two = await Wire.connected(second, "two")
        path = tmp_path / f"{service.ports['mqtt']}.sock"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        status = await asyncio.to_thread(ask_broker, {"do": "status"}, tmp_path)
        assert [each["client"] for each in status["clients"]] == ["one", "two"]
        assert status["figures"]["clients/connected"] == 2
        kicked = await asyncio.to_thread(ask_broker, {"do": "kick", "client": "one"}, path)
        assert kicked == {"kicked": True}
        packet = await one.packet()
        assert isinstance(packet, mqtt5.DisconnectPacket)
        assert int(packet.reason_code) == 0x98
        again = await asyncio.to_thread(ask_broker, {"do": "kick", "client": "one"}, path)
        assert again == {"kicked": False}
        assert service.metrics_port is not None
        text = await scraped(service.metrics_port, "/metrics")
        assert "200 OK" in text
        assert "\nzonal_broker_clients_connected 1\n" in text
        assert "\nzonal_broker_connections_total 2\n" in text
        assert "404" in await scraped(service.metrics_port, "/")
    with pytest.raises(BrokerError, match="name a control socket"):
        ask_broker({"do": "status"}, tmp_path)


async def scraped(port: int, path: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    text = (await reader.read(-1)).decode()
    writer.close()
    return text


@pytest.mark.parametrize("text", ["http://a:1", "mqtt://a", "mqtt://:1", "mqtt:a:1", "8883"])
def test_what_is_no_listener_is_refused(text: str) -> None:
    with pytest.raises(BrokerError, match="no listener"):
        Service(Options(listeners=(text,)))


def test_a_further_listener_needs_credentials_as_well() -> None:
    with pytest.raises(BrokerError, match="only loopback"):
        Service(Options(listeners=("mqtt://0.0.0.0:1883",)))


def test_the_commands(tmp_path: Path) -> None:
    with BrokerProcess("--control", str(tmp_path), "--limit", "maximum_qos=1") as broker:
        client = ["mosquitto_sub", "-p", str(broker.port), "-t", "x", "-i", "somebody", "-V", "5"]
        place = ["-D", "connect", "user-property", "location", "45.4642,9.19"]
        with subprocess.Popen([*client, *place], stderr=subprocess.DEVNULL) as listening:
            try:
                while "somebody" not in (shown := zonal("status", "--control", str(tmp_path))):
                    assert listening.poll() is None
                assert "45.4642,9.1900" in shown
                assert "•" in shown or "·" in shown
                figures = json.loads(zonal("status", "--json", "--control", str(tmp_path)))
                assert figures["figures"]["clients/connected"] == 1
                assert "disconnected" in zonal("kick", "somebody", "--control", str(tmp_path))
            finally:
                listening.terminate()
        assert "'somebody' connected from 127.0.0.1" in broker.output


def zonal(*arguments: str) -> str:
    command = [sys.executable, "-m", "zonal", "broker", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_map_has_north_up() -> None:
    lines = draw_map([(45.5, 9.0), (45.0, 9.5), (45.0, 9.5)])
    assert lines[1].startswith("│·")
    assert lines[-2].endswith("•│")
    assert draw_map([]) == []
    assert len(draw_map([(1.0, 1.0)])) == len(lines)


def test_sockets_are_kept_where_only_their_user_looks() -> None:
    assert control_folder().name == "zonal-brokers"

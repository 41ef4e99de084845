"""A city with TLS, users, rules by place, two brokers and REST; at each door somebody hostile."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import httpx
import pytest
import zenoh

import attackers
import zonal
from city import USES, City, built
from meshes import QUICK, wait_for_ring
from network import eventually
from zonal import Circle, Point, mesh
from zonal.broker.envelope import seal
from zonal.broker.message import Message
from zonal.errors import ZonalError
from zonal.geo import cell_of
from zonal.keys import encoding_named, location_of, message_keys
from zonal.session import GeoContext
from zonal.trust import Zone, new_secret

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="the page uses openssl")

DUOMO, BERLIN = Point(45.4642, 9.19), Point(52.52, 13.405)
MILANO_PLACE, BERLIN_PLACE = "45.4642,9.19", "52.52,13.405"
SOON_S = 60.0


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    with built(tmp_path_factory.mktemp("city")) as city:
        yield city


@pytest.fixture
def http(city: City) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=city.url, verify=city.trusted, timeout=60) as client:
        yield client


def allowed(city: City) -> dict[str, str]:
    return {"authorization": f"Bearer {city.token}"}


# What is promised to those who may


def test_a_station_is_heard_by_every_door(city: City) -> None:
    with (
        city.device("anna") as phone,
        city.device("anna", port=city.other_mqtt_port) as elsewhere,
        city.session("anna") as session,
        session.declare_subscriber("city/air/1") as over_zenoh,
        city.reader("/city/air/1") as over_rest,
        city.device("station") as station,
    ):
        assert over_rest.next_named("ready").data["area"]
        for device in (phone, elsewhere):
            assert device.subscribe("city/air/1").startswith("Granted")
        heard: list[bytes] = []

        def all_heard() -> bool:
            station.publish("city/air/1", b"21", location=MILANO_PLACE)
            while sample := over_zenoh.try_recv():
                heard.append(sample.payload.to_bytes())
            return bool(phone.heard and elsewhere.heard and heard)

        eventually(all_heard, SOON_S)
        assert over_rest.next_named("PUT", timeout=SOON_S).data["location"]["lat"] == DUOMO.lat


@pytest.mark.parametrize("command", [line for line in USES.splitlines() if line])
def test_the_uses_of_the_page(city: City, command: str) -> None:
    here = command.replace("8443", str(city.web_port)).replace("7447", str(city.zenoh_port))
    done = subprocess.run(
        ["bash", "-c", here], cwd=city.folder, env=city.variables, timeout=120, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert '"status"' not in done.stdout, "an answer, no problem"


# Zenoh


@pytest.mark.parametrize(
    ("user", "password", "scheme"),
    [(None, None, "tls"), ("anna", "wrong", "tls"), ("mallory", "x", "tls"), (None, None, "tcp")],
)
def test_zenoh_lets_in_nobody_without_a_user(
    city: City, user: str | None, password: str | None, scheme: str
) -> None:
    endpoint = f"{scheme}/localhost:{city.zenoh_port}"
    settings = {"connect/timeout_ms": 1_000, "connect/exit_on_failure": True}
    config = city.zenoh_config(user, password, connect=[endpoint], settings=settings)
    with pytest.raises((ZonalError, zenoh.ZError)):
        zonal.open(config).close()


def test_a_zenoh_user_hears_its_area_alone_whatever_it_subscribes_to(city: City) -> None:
    heard: list[str] = []
    expressions = ("**", "**/@s2/**", "**/@to/**", "city/**/@s2/**", "city/*/@s2/**/@to/**",
                   "**/@mgrs/**", "**/@json/**", "**/@bloom/**", "@/**", "**/@adv/**")  # fmt: skip
    with city.session("services") as services, city.plain_session("anna") as anna:
        for expression in expressions:
            with contextlib.suppress(zenoh.ZError):
                anna.declare_subscriber(
                    expression, lambda sample: heard.append(sample.payload.to_string())
                )
        fence = Circle(BERLIN, radius_m=500)

        def tell() -> bool:
            services.put("city/noise", "berlin", location=BERLIN)
            services.put("city/noise", "berlin", location=BERLIN, encoding="mgrs")
            services.put("city/alert", "berlin", location=BERLIN, geofence=fence)
            services.put("secret", "other", location=DUOMO)
            services.put("city/noise", "nowhere")
            services.delete("city/noise", location=BERLIN)
            services.put("city/noise", "milano", location=DUOMO)
            return heard.count("milano") >= 5

        eventually(tell, SOON_S)
        assert set(heard) == {"milano"}
        for key in ("@/**", "secret/**", "**"):
            told = [reply.ok for reply in anna.get(key, timeout=1.0) if reply.ok is not None]
            mine = f"@/{anna.zid()}/"  # what a session tells itself
            assert [each for each in told if not str(each.key_expr).startswith(mine)] == []


def test_a_zenoh_user_writes_where_it_may_and_nowhere_else(city: City) -> None:
    there, here = (
        message_keys("city/air/2", place, None, encoding_named("s2"))[0]
        for place in (BERLIN, DUOMO)
    )
    lie = GeoContext(place=BERLIN).to_bytes()
    wide = GeoContext(place=cell_of(BERLIN, 8)).to_bytes()
    with (
        city.session("services") as services,
        services.declare_subscriber("**", fenced=True) as everything,
        city.plain_session("anna") as anna,
        city.plain_session("station") as plain_station,
        city.session("station") as station,
    ):
        heard: set[str] = set()

        def tell() -> bool:
            for topic in ("city/air/2", "city/alert", "x"):
                anna.put(topic, "forged")
                anna.delete(topic)
            plain_station.put(there, "forged")
            plain_station.put("city/air/2", "forged")
            for attachment in (lie, wide):  # a place that is not the key's
                plain_station.put(here, "forged", attachment=attachment)
            plain_station.put("city/air/2/@s2/**", "forged", attachment=lie)
            plain_station.put("city/alert/@s2/**", "forged")
            plain_station.put("**", "forged")
            station.put("city/air/2", "forged", location=BERLIN)
            station.put("city/alert", "forged", location=DUOMO)
            station.put("city/air/2", "right", location=DUOMO)
            while sample := everything.try_recv():
                heard.add(sample.payload.to_string())
            return "right" in heard

        eventually(tell, SOON_S)
        assert heard == {"right"}


# What is kept: recorder, history and store


def test_what_a_publisher_forges_suppresses_and_changes_nothing_that_is_kept(city: City) -> None:
    """Sources, numbers, time stamps, attachments, keys and payloads of somebody who may publish."""
    (key,) = message_keys("city/air/5", DUOMO, None, encoding_named("s2"))
    with (
        city.session("station") as station,
        city.plain_session("station") as forger,
        city.session("anna") as anna,
    ):
        claimed = GeoContext(station._parts.origin.id, 0, DUOMO)

        def asked(selector: str) -> list[str]:
            said = [reply.payload.to_bytes() for reply in anna.get(selector, timeout=30)]
            return [each.decode() for each in said if each.startswith(b"right")]

        def is_kept() -> bool:
            station.put("city/air/5", "right", location=DUOMO)
            return asked("city/air/5") == ["right"] and bool(asked("city/air/5?_time=[..]"))

        eventually(is_kept, SOON_S)
        before = len(asked("city/air/5?_time=[..]"))
        for number in range(before + 200):
            fake = claimed._replace(sequence=number).to_bytes(location_of(key))
            forger.put(key, "forged", attachment=fake)
            forger.put(key, os.urandom(number), attachment=os.urandom(number))
        for seconds in (0, 2**31 - 1, 2**31, 2**32 - 1):
            stamp = zenoh.Timestamp(zenoh.NTP64(seconds, 0), b"\x01")
            forger.put(key, "forged", timestamp=stamp, attachment=claimed.to_bytes())
            forger.delete(key, timestamp=stamp, attachment=claimed.to_bytes())
        for name in ("../../../evil", "date=1970-01-01", "_delta_log/0.json", "a\0b", "k" * 9_999):
            for odd in message_keys(f"city/air/{name}", DUOMO, None, encoding_named("s2")):
                forger.put(odd, b"[" * 50_000, encoding="application/json;\0")
        last = claimed.to_bytes(location_of(key))
        block = zenoh.CongestionControl.BLOCK  # behind a flood, Zenoh drops the others
        forger.put(key, "right: the forger's last", attachment=last, congestion_control=block)
        eventually(lambda: asked("city/air/5") == ["right: the forger's last"], SOON_S)
        for number in range(50):
            station.put("city/air/5", f"right {number}", location=DUOMO)
        eventually(lambda: asked("city/air/5") == ["right 49"], SOON_S)
        expected = sorted(f"right {number}" for number in range(50))

        def recorded() -> bool:
            told = asked("city/air/5?_time=[..]")
            return sorted(text for text in told if text[-1].isdecimal()) == expected

        eventually(recorded, SOON_S)
    folders = {path.name[:5] for path in (city.folder / "log").iterdir()}
    assert folders == {"_delt", "date="}
    assert not list(city.folder.parent.rglob("evil*"))


def test_what_nobody_may_publish_is_not_kept(city: City) -> None:
    there = message_keys("city/air/6", BERLIN, None, encoding_named("s2"))[0]
    with (
        city.plain_session("anna") as anna,
        city.plain_session("station") as plain,
        city.session("station") as station,
        city.session("services") as services,
    ):

        def kept(selector: str) -> set[str]:
            return {reply.text for reply in services.get(selector, timeout=30)}

        def tell() -> bool:
            for place in ("city/air/6", there, "@zonal/held/city/air/6", "@zonal/store/area/x"):
                anna.put(place, "forged")
                plain.put(place, "forged")
            anna.delete("city/air/6")
            anna.delete("**")
            anna.declare_queryable("city/**", lambda query: query.reply("city/air/6", "forged"))
            station.put("city/air/6", "right", location=DUOMO)
            return kept("city/air/6") == {"right"}

        eventually(tell, SOON_S)
        eventually(lambda: kept("city/air/6?_time=[..]") == {"right"}, SOON_S)


def test_a_flood_of_one_publisher_leaves_the_others_recorded(city: City) -> None:
    (key,) = message_keys("city/air/7", DUOMO, None, encoding_named("s2"))
    with (
        city.plain_session("station") as flooding,
        city.session("station") as station,
        city.session("services") as services,
    ):
        for _ in range(5_000):
            flooding.put(key, bytes(2_000))
        for number in range(20):
            station.put("city/air/8", str(number), location=DUOMO)

        def recorded() -> list[str]:
            found = services.get("city/air/8?_time=[..]", timeout=30)
            return sorted(reply.text for reply in found)

        eventually(lambda: recorded() == sorted(map(str, range(20))), SOON_S)


# Between brokers


def test_brokers_take_no_envelope_from_those_who_do_not_know_their_secret(city: City) -> None:
    forged = Message("city/air/3", b"forged", 1)
    forged.location = DUOMO
    key = message_keys("city/air/3", DUOMO, None, encoding_named("s2"))[0]
    with (
        city.device("anna") as anna,
        city.device("station") as station,
        city.plain_session("station") as stranger,
    ):
        assert anna.subscribe("city/#").startswith("Granted")

        def tell() -> bool:
            for number, secret in enumerate((b"", b"guess")):
                envelope = seal(forged, 7, number + 1, time.time(), secret)
                stranger.put(key, b"forged", attachment=envelope)
                stranger.put("city/air/3", b"forged", attachment=envelope)
            station.publish("city/air/3", b"right", location=MILANO_PLACE)
            return len(anna.heard) >= 3

        eventually(tell, SOON_S)
        assert {payload for _, payload in anna.heard} == {b"right"}


# MQTT


def test_mqtt_lets_in_nobody_without_a_user(city: City) -> None:
    for user, password in ((None, None), ("anna", "wrong"), ("mallory", "x"), ("services", None)):
        with city.device(user, password) as device:
            assert not device.is_in, user


def test_an_mqtt_user_does_what_rules_allow_and_nothing_else(city: City) -> None:
    with city.device("anna") as anna, city.device("station") as station:
        for topic in ("#", "$SYS/#", "secret", "+/air/#", "$share/g/#"):
            assert not anna.subscribe(topic).startswith("Granted"), topic
        assert not anna.subscribe("city/#", geofence="CIRCLE(13.405 52.52, 900)").startswith("Gr")
        assert not station.subscribe("city/#").startswith("Granted")
        assert anna.subscribe("city/#").startswith("Granted")
        for device in (anna, station):
            for topic, place in (
                ("city/air/4", BERLIN_PLACE), ("city/alert", MILANO_PLACE), ("secret", "0,0"),
                ("$SYS/broker/clients", MILANO_PLACE),
            ):  # fmt: skip
                answer = device.publish(topic, b"forged", location=place)
                assert answer != "Success", topic
        assert station.publish("city/air/4", b"forged") != "Success", "without a place"
        assert anna.publish("city/air/4", b"forged", location=MILANO_PLACE) != "Success"
        assert station.publish("city/air/4", b"right", location=MILANO_PLACE) == "Success"
        eventually(lambda: anna.heard, SOON_S)
        assert anna.heard == [("city/air/4", b"right")]


@pytest.mark.parametrize(
    "sent", [b"\x10\xff\xff\xff\x7f", b"\x00" * 1_000, b"GET / HTTP/1.1\r\n\r\n", b"\x30\x00" * 99]
)
def test_mqtt_ends_what_is_no_mqtt(city: City, sent: bytes) -> None:
    with (
        socket.create_connection(("localhost", city.mqtt_port), timeout=SOON_S) as raw,
        city.trusted.wrap_socket(raw, server_hostname="localhost") as connection,
    ):
        connection.sendall(sent)
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            assert connection.recv(100)[:1] in (b"", b"\xe0", b"\x20")
    with city.device("anna") as anna:
        assert anna.is_in


# REST


@pytest.mark.parametrize(
    "path", ["/city/**", "/city/air/1?_time=[now(-1h)..]", "/-/view", "/-/events", "/metrics",
             "/@/*/router", "/-/routers", "/-/tiles/0/0/0"],
)  # fmt: skip
def test_rest_tells_nothing_without_a_token(city: City, http: httpx.Client, path: str) -> None:
    for headers in ({}, {"authorization": "Bearer x"}, {"authorization": "Bearer \xe9"}):
        raw = {name: value.encode("latin-1") for name, value in headers.items()}
        for accept in ("*/*", "text/event-stream"):
            answer = http.get(path, headers={**raw, "accept": accept})
            assert answer.status_code == 401
    assert http.put("/city/air/1?lat=45.4642&long=9.19").status_code == 401
    assert http.get(f"{path}{'&' if '?' in path else '?'}token={city.token}").status_code == 401


def test_a_token_does_what_rules_allow_and_nothing_else(city: City, http: httpx.Client) -> None:
    mine = allowed(city)
    refused = {
        "/**": "GET", "/secret": "GET", "/@/*/router": "GET", "/metrics": "GET",
        "/-/routers": "GET", "/city/air/1?lat=45.4642&long=9.19": "PUT", "/city/air/2": "DELETE",
        "/city/air/1?lat=52.52&long=13.405&shape=circle&r=900": "GET",
    }  # fmt: skip
    for path, method in refused.items():
        assert http.request(method, path, headers=mine).status_code == 403, path
    stream = {**mine, "accept": "text/event-stream"}
    for path in ("/city/**?fenced=true", "/**", "/city/air?shape=circle&lat=52.5&long=13.4&r=9"):
        assert http.get(path, headers=stream).status_code == 403, path
    for path in ("/city/air?lat=45.46&long=9.19&radius=500", f"/{'a/' * 20_000}b", "/city//air"):
        assert http.get(path, headers=mine).status_code in (400, 414), path[:40]
    assert http.get("/city/air/1?timeout=0.2", headers=mine).status_code in (200, 404)


def test_a_stream_of_milano_has_nothing_of_berlin(city: City) -> None:
    with (
        city.session("services") as services,
        city.reader("/city/**?lat=45.4642&long=9.19") as reader,
    ):
        reader.next_named("ready")

        def tell() -> str:
            for place, value in ((BERLIN, "berlin"), (None, "nowhere"), (DUOMO, "milano")):
                services.put("city/noise", value, location=place, content_encoding="text/plain")
            return "milano"

        stop = threading.Event()
        telling = threading.Thread(target=lambda: [tell() for _ in iter(lambda: stop.wait(0.1), 1)])
        telling.start()
        try:
            heard = [reader.next_named("PUT", timeout=SOON_S).data["value"] for _ in range(10)]
        finally:
            stop.set()
            telling.join()
        assert set(heard) == {"milano"}


# Fences and the mesh


def test_who_may_hear_a_place_and_subscribes_past_its_fences_gets_ciphertext(city: City) -> None:
    pytest.importorskip("cryptography")
    heard: list[bytes] = []
    duomo = Circle(DUOMO, radius_m=500)
    with city.session("services") as office, city.plain_session("anna") as anna:
        office.keyring.add_secret(Zone("duomo", duomo, new_secret()))
        anna.declare_subscriber(
            "city/**/@s2/**/@to/**", lambda sample: heard.append(sample.payload.to_bytes())
        )

        def tell() -> bool:
            office.put("city/plan", "the plan", location=DUOMO, geofence=duomo, sealed="duomo")
            return bool(heard)

        eventually(tell, SOON_S)
        assert not [payload for payload in heard if b"plan" in payload]


def test_a_mesh_with_a_key_passes_nothing_of_strangers_into_the_city(city: City) -> None:
    keys = (b"the key of this mesh", b"the key of this mesh", b"a guess at that key")
    with contextlib.ExitStack() as stack:
        gate, device, stranger = (
            stack.enter_context(mesh.open(number, config=QUICK, key=key))
            for number, key in enumerate(keys)
        )
        for node, others in ((gate, (device, stranger)), (device, (gate, stranger))):
            node.set_peers({other.id: other.address for other in others})
        stranger.set_peers({gate.id: gate.address, device.id: device.address})
        services = stack.enter_context(city.session("services"))
        listener = stack.enter_context(city.session("services"))
        everything = stack.enter_context(listener.declare_subscriber("city/mesh"))
        stack.enter_context(mesh.Gateway(gate, services, ["city/mesh"]))
        noise = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        wait_for_ring([gate, device])
        heard: set[bytes] = set()

        def tell() -> bool:
            for size in (0, 1, 40, 1_400):
                noise.sendto(os.urandom(size), gate.address)
            stranger.put("city/mesh", b"forged", location=DUOMO)
            device.put("city/mesh", b"right", location=DUOMO)
            while sample := everything.try_recv():
                heard.add(sample.payload.to_bytes())
            time.sleep(0.05)
            return b"right" in heard and gate.status().counters["forged"] > 0

        eventually(tell, SOON_S)
        assert heard == {b"right"}


# What is written down


def test_logs_say_who_was_refused_and_never_a_secret_or_a_place(
    city: City, http: httpx.Client
) -> None:
    http.get("/city/air/1", headers={"authorization": "Bearer mallorys-guess"})
    http.put("/city/air/1?lat=45.4642&long=9.19", headers=allowed(city))
    eventually(lambda: "refused" in city.log, SOON_S)
    secrets = [city.password(user) for user in ("services", "anna", "station")]
    secrets += [city.token, "mallorys-guess", "45.4642", "13.405"]
    secrets.append((city.folder / "brokers.secret").read_text().strip())
    assert not [secret for secret in secrets if secret in city.log]
    for name in ("users", "city.key", "brokers.secret", "tokens.toml", "zonal.toml"):
        assert (city.folder / name).stat().st_mode & 0o077 == 0, name
    assert city.token not in (city.folder / "tokens.toml").read_text()


# The well-behaved pair


def latencies(city: City, count: int) -> list[float]:
    """Seconds from the station's MQTT message to anna's event, one after the other."""
    times = []
    with city.reader("/city/air/9") as reader, city.device("station") as station:
        reader.next_named("ready")
        station.publish("city/air/9", b"0", location=MILANO_PLACE)
        while reader.next_named("PUT", timeout=SOON_S) is None:
            pass
        for number in range(1, count + 1):
            began = time.monotonic()
            station.publish("city/air/9", str(number).encode(), location=MILANO_PLACE)
            reader.next_named("PUT", timeout=SOON_S)
            times.append(time.monotonic() - began)
            time.sleep(0.01)  # no closed loop at full speed: a pair that behaves
    return sorted(times)


def p99(times: list[float]) -> float:
    return times[math.ceil(0.99 * len(times)) - 1]


@contextlib.contextmanager
def under_attack(city: City) -> Iterator[None]:
    """Everything of `attackers` at once, from a process that is out of the pair's way."""
    variables = city.variables | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    running = subprocess.Popen(
        [sys.executable, attackers.__file__, str(city.folder)],
        env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert running.stdout is not None
        assert "begun" in running.stdout.readline()
        yield
    finally:
        told, _ = running.communicate("", timeout=SOON_S)
        print(told, end="")
    counts = json.loads(told)
    assert all(counts[name] > 0 for name in ("wrong_tokens", "wrong_passwords")), counts


def test_the_pair_goes_on_under_attack(city: City) -> None:
    with under_attack(city):
        assert p99(latencies(city, 50)) < 5.0, "against collapse alone"


@pytest.mark.slow
def test_the_pair_keeps_its_p99_within_twice(city: City) -> None:
    ratios = []
    for _ in range(3):
        calm = latencies(city, 300)
        with under_attack(city):
            hard = latencies(city, 300)
        ratios.append(p99(hard) / p99(calm))
        print(f"p50 {calm[150] * 1e3:.1f} and {hard[150] * 1e3:.1f} ms, ", end="")
        print(f"p99 {p99(calm) * 1e3:.1f} and {p99(hard) * 1e3:.1f} ms: {ratios[-1]:.2f}")
    assert min(ratios) <= 2.0, ratios

from __future__ import annotations

from pathlib import Path

import mqtt5
import pytest

from broker_bench import Bench
from zonal.broker import RemoteEnd
from zonal.broker.access import User
from zonal.broker.credentials import Credentials, read_passwords, set_password
from zonal.errors import CredentialsError
from zonal.trust import Rules, parse_rules


@pytest.fixture(scope="module")
def passwords(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("users") / "passwords"
    set_password(path, "alice", b"secret")
    set_password(path, "bob", b"hunter2")
    return path


def guarded(passwords: Path, rules: Rules | None = None, **options: bool) -> Bench:
    return Bench(access=Credentials(read_passwords(passwords), rules, **options))


def rules_of(text: str) -> Rules:
    """Rules as lines `who verb topics`."""
    tables = []
    for line in text.split(";"):
        who, verb, *topics = line.split()
        tables.append(f'[[rule]]\nwho = "{who}"\nallow = "{verb}"\ntopics = {topics}\n')
    return parse_rules("".join(tables), "rules.toml", lambda name: name)


def test_passwords_are_stored_hashed_and_for_the_owner_alone(passwords: Path) -> None:
    assert "secret" not in passwords.read_text()
    assert passwords.stat().st_mode & 0o777 == 0o600


def test_changing_a_password_keeps_the_others(tmp_path: Path) -> None:
    path = tmp_path / "p"
    set_password(path, "a", b"1")
    set_password(path, "b", b"2")
    set_password(path, "a", b"3")
    users = Credentials(read_passwords(path))
    assert users.check("a", b"1", RemoteEnd()) is None
    assert users.check("a", b"3", RemoteEnd()) is not None
    assert users.check("b", b"2", RemoteEnd()) is not None


@pytest.mark.parametrize(
    ("name", "password", "code"),
    [
        ("alice", b"secret", 0), ("alice", b"wrong", 0x86), ("mallory", b"secret", 0x86),
        (None, None, 0x87), ("alice", None, 0x86), (None, b"secret", 0x86),
    ],
)  # fmt: skip
def test_credentials_decide(
    passwords: Path, name: str | None, password: bytes | None, code: int
) -> None:
    client = guarded(passwords).client()
    client.send(mqtt5.ConnectPacket("c", username=name, password=password))
    assert int(client.take(mqtt5.ConnAckPacket).reason_code) == code
    assert client.is_closed == (code != 0)


def test_packets_sent_right_behind_connect_wait_for_the_check(passwords: Path) -> None:
    client = guarded(passwords).client()
    client.send(
        mqtt5.ConnectPacket("c", username="alice", password=b"secret"),
        mqtt5.SubscribePacket(1, [mqtt5.TopicFilter("t")]),
        mqtt5.PublishPacket("t", b"x"),
    )
    kinds = [type(p).__name__ for p in client.packets()]
    assert kinds == ["ConnAckPacket", "SubAckPacket", "PublishPacket"]


def test_a_certificate_is_enough_where_it_was_verified(passwords: Path) -> None:
    bench = guarded(passwords, certificates=True)
    client = bench.client(RemoteEnd("", "car-7"))
    client.connect("c")
    assert client.connection.user is not None
    assert client.connection.user.name == "car-7"
    other = bench.client(RemoteEnd("", "car-7"))
    other.send(mqtt5.ConnectPacket("d", username="alice"))
    assert other.refused_with() == 0x86


def test_nobody_continues_another_users_session(passwords: Path) -> None:
    """MQTT-3.1.3-8."""
    bench = guarded(passwords)
    owner = bench.client()
    owner.connect("c", username="alice", password=b"secret", expiry=100)
    thief = bench.client()
    thief.send(mqtt5.ConnectPacket("c", username="bob", password=b"hunter2", clean_start=True))
    assert thief.refused_with() == 0x87
    assert not owner.is_closed


def test_rules_limit_publishing_and_subscribing(passwords: Path) -> None:
    rules = rules_of("alice publish a/# own/%u/%c; alice subscribe a/+/x $SYS/#")
    bench = guarded(passwords, rules)
    client = bench.client()
    client.connect("c1", username="alice", password=b"secret")
    codes = {}
    for topic in ("a/b", "b", "own/alice/c1", "own/alice/c2", "own/bob/c1"):
        client.publish(topic, b"", 1)
        codes[topic] = int(client.take(mqtt5.PubAckPacket).reason_code)
    assert codes == {
        "a/b": 0, "b": 0x87, "own/alice/c1": 0, "own/alice/c2": 0x87, "own/bob/c1": 0x87,
    }  # fmt: skip
    granted = {
        pattern: int(client.subscribe(pattern).reason_codes[0])
        for pattern in ("a/b/x", "a/+/x", "a/#", "#", "$SYS/#", "$share/g/a/b/x", "$share/g/#")
    }
    assert granted == {
        "a/b/x": 0, "a/+/x": 0, "a/#": 0x87, "#": 0x87, "$SYS/#": 0, "$share/g/a/b/x": 0,
        "$share/g/#": 0x87,
    }  # fmt: skip


def test_a_name_with_wildcards_widens_no_rule() -> None:
    user = User("#", rules_of("* publish own/%u/x by/%c"))
    assert not user.may_publish("own/alice/x", "c").allowed
    assert not user.may_publish("by/a/b", "a/b").allowed
    assert user.may_publish("by/c", "c").allowed


def test_users_without_rules_may_do_nothing_but_say_where_they_are(passwords: Path) -> None:
    client = guarded(passwords, Rules()).client()
    client.connect("c", username="bob", password=b"hunter2")
    client.publish("a", b"", 1)
    assert int(client.take(mqtt5.PubAckPacket).reason_code) == 0x87
    client.publish("$zonal/location", b"45,9", 1)
    assert int(client.take(mqtt5.PubAckPacket).reason_code) == 0


def test_a_will_needs_permission_too(passwords: Path) -> None:
    rules = rules_of("alice publish a; bob publish b; * subscribe #")
    bench = guarded(passwords, rules)
    watcher = bench.client()
    watcher.connect("w", username="alice", password=b"secret")
    watcher.subscribe("#")
    for topic in ("a", "b"):
        client = bench.client()
        will = mqtt5.Will(topic, payload=topic.encode())
        client.connect("c", username="bob", password=b"hunter2", will=will)
        client.hang_up()
    assert watcher.payloads() == [b"b"]


@pytest.mark.parametrize(
    "text", ["alice", "alice:plain", "alice:scrypt$zz$00", ":scrypt$00$" + "0" * 64]
)
def test_a_bad_password_file_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p"
    path.write_text("# users\n" + text + "\n")
    with pytest.raises(CredentialsError, match="line 2"):
        read_passwords(path)


def test_a_missing_file_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="cannot be read"):
        read_passwords(tmp_path / "nowhere")


def test_who_waits_too_long_for_a_check_is_told_that_the_server_is_busy(passwords: Path) -> None:
    bench = guarded(passwords)
    connection = bench.broker.open(RemoteEnd(), bench.now)
    connect = mqtt5.ConnectPacket("alice", username="alice", password=b"secret")
    bench.broker.receive(connection, connect.write(), bench.now)
    bench.broker.proving.clear()  # nobody comes to check it
    bench.broker.tick(bench.now + 10.5)
    bench.broker.flush()
    answer, _ = mqtt5.read(memoryview(connection.take()))
    assert isinstance(answer, mqtt5.ConnAckPacket)
    assert answer.reason_code == mqtt5.ConnAckReasonCode.SERVER_BUSY
    assert bench.broker.counters.connections_refused == 1

"""SCRAM-SHA-256 as an authentication method (MQTT 5, 4.12; RFC 7677)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path

import mqtt5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_bench import Bench, Client
from property_examples import examples
from zonal.broker.credentials import Credentials, read_passwords, set_password
from zonal.broker.scram import METHOD, ScramExchange, keys_of
from zonal.errors import MqttError

CONTINUE, AGAIN = mqtt5.AuthReasonCode(0x18), mqtt5.AuthReasonCode(0x19)


class Prover:
    """The client's side, as RFC 5802 has it."""

    def __init__(self, name: str, password: bytes, nonce: str = "abc") -> None:
        self.bare = f"n={name},r={nonce}"
        self.password = password
        self.server_proof = b""

    @property
    def first(self) -> bytes:
        return f"n,,{self.bare}".encode()

    def final(self, challenge: bytes) -> bytes:
        nonce, salt, count = (part.split("=", 1)[1] for part in challenge.decode().split(","))
        salted = hashlib.pbkdf2_hmac("sha256", self.password, base64.b64decode(salt), int(count))
        key = hmac.digest(salted, b"Client Key", "sha256")
        without = f"c=biws,r={nonce}"
        said = f"{self.bare},{challenge.decode()},{without}".encode()
        signature = hmac.digest(hashlib.sha256(key).digest(), said, "sha256")
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True)))
        server_key = hmac.digest(salted, b"Server Key", "sha256")
        self.server_proof = b"v=" + base64.b64encode(hmac.digest(server_key, said, "sha256"))
        return f"{without},p={proof.decode()}".encode()


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("users") / "users"
    set_password(path, "alice", b"pencil", scram=True)
    set_password(path, "carol", b"ruler")
    return path


@pytest.fixture
def bench(users: Path) -> Bench:
    return Bench(access=Credentials(read_passwords(users)))


def auth(data: bytes, code: mqtt5.AuthReasonCode = CONTINUE, method: str = METHOD) -> bytes:
    packet = mqtt5.AuthPacket(
        reason_code=code, authentication_method=method, authentication_data=data
    )
    return packet.write()


def begun(bench: Bench, prover: Prover) -> tuple[Client, bytes]:
    client = bench.client()
    client.send(
        mqtt5.ConnectPacket(
            "c", authentication_method=METHOD, authentication_data=prover.first
        )
    )  # fmt: skip
    challenge = client.one(mqtt5.AuthPacket)
    assert (int(challenge.reason_code), challenge.authentication_method) == (0x18, METHOD)
    assert challenge.authentication_data is not None
    return client, challenge.authentication_data


def test_the_vector_of_rfc_7677() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    keys = keys_of(b"pencil", salt, 4096)
    exchange = ScramExchange(lambda _: keys, b"", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    first = exchange.first(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert first == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    final = exchange.final(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert final == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_a_client_proves_its_password_and_the_server_that_it_knows_it(bench: Bench) -> None:
    """MQTT-4.12.0-2, MQTT-4.12.0-3, MQTT-4.12.0-5, MQTT-3.15.2-1."""
    prover = Prover("alice", b"pencil")
    client, challenge = begun(bench, prover)
    client.send_bytes(auth(prover.final(challenge)))
    answer = client.one(mqtt5.ConnAckPacket)
    assert (int(answer.reason_code), answer.authentication_method) == (0, METHOD)
    assert answer.authentication_data == prover.server_proof
    assert bench.broker.sessions["c"].user_name == "alice"


@pytest.mark.parametrize("name", ["alice", "nobody", "carol"])
def test_a_wrong_proof_is_refused_and_tells_nothing_about_who_is_known(
    bench: Bench, name: str
) -> None:
    """MQTT-4.12.0-4."""
    prover = Prover(name, b"wrong")
    client, challenge = begun(bench, prover)
    assert challenge.endswith(b"i=15000")
    client.send_bytes(auth(prover.final(challenge)))
    assert client.refused_with() == 0x87
    assert "c" not in bench.broker.sessions


def test_the_salt_of_an_unknown_user_stays_the_same(bench: Bench) -> None:
    salts = {begun(bench, Prover("nobody", b""))[1].split(b",")[1] for _ in range(2)}
    assert len(salts) == 1


def test_who_guesses_has_to_wait(bench: Bench) -> None:
    for _ in range(10):
        prover = Prover("alice", b"wrong")
        client, challenge = begun(bench, prover)
        client.send_bytes(auth(prover.final(challenge)))
    client = bench.client()
    first = Prover("alice", b"pencil").first
    client.send(mqtt5.ConnectPacket("c", authentication_method=METHOD, authentication_data=first))
    assert client.refused_with() == 0x87


def test_nothing_but_auth_may_come_before_connack(bench: Bench) -> None:
    """MQTT-3.1.2-30."""
    client, _ = begun(bench, Prover("alice", b"pencil"))
    client.send_bytes(b"\xc0\0")
    assert client.refused_with() == 0x82


def test_an_answer_larger_than_the_client_takes_is_not_sent(bench: Bench) -> None:
    """MQTT-3.15.2-2, MQTT-3.15.2-3."""
    client = bench.client()
    first = Prover("alice", b"pencil").first
    client.send(
        mqtt5.ConnectPacket(
            "c", authentication_method=METHOD, authentication_data=first, max_packet_size=60
        )
    )
    assert client.refused_with() == 0x95


def test_a_client_that_does_not_finish_is_closed(bench: Bench) -> None:
    client, _ = begun(bench, Prover("alice", b"pencil"))
    bench.wait(11)
    assert client.is_closed


def test_the_method_may_not_change_on_the_way(bench: Bench) -> None:
    client, _ = begun(bench, Prover("alice", b"pencil"))
    client.send_bytes(auth(b"", method="other"))
    assert client.refused_with() == 0x82


def test_a_client_proves_again_who_it_is(bench: Bench) -> None:
    """MQTT-4.12.1-1, MQTT-4.12.1-2."""
    prover = Prover("alice", b"pencil")
    client, challenge = begun(bench, prover)
    client.send_bytes(auth(prover.final(challenge)))
    client.packets()
    again = Prover("alice", b"pencil", "xyz")
    client.send_bytes(auth(again.first, AGAIN))
    data = client.one(mqtt5.AuthPacket).authentication_data
    assert data is not None
    client.publish("t", b"meanwhile", 1)
    client.packets()
    client.send_bytes(auth(again.final(data)))
    answer = client.one(mqtt5.AuthPacket)
    assert (int(answer.reason_code), answer.authentication_data) == (0, again.server_proof)
    client.send_bytes(auth(again.first, AGAIN) + auth(b"c=biws,r=1,p=AAAA"))
    assert client.refused_with() == 0x87


def test_auth_without_a_method_at_connect_is_an_error() -> None:
    client = Bench().connected("c")
    client.send_bytes(auth(b"", AGAIN))
    assert client.refused_with() == 0x82


def test_where_there_are_no_keys_the_method_is_not_offered() -> None:
    client = Bench().client()
    client.send(mqtt5.ConnectPacket("c", authentication_method=METHOD, authentication_data=b""))
    assert client.refused_with() == 0x8C


def test_a_user_with_scram_keys_may_send_its_password_as_well(bench: Bench) -> None:
    bench.connected("c", username="alice", password=b"pencil")
    client = bench.client()
    client.send(mqtt5.ConnectPacket("d", username="alice", password=b"pen"))
    assert client.refused_with() == 0x86


@examples(200)
@given(st.binary(max_size=40), st.binary(max_size=60))
def test_whatever_a_client_says_is_answered_or_refused(first: bytes, final: bytes) -> None:
    keys = keys_of(b"x", b"salt", 1)
    exchange = ScramExchange(lambda _: keys, b"s")
    with pytest.raises(MqttError):
        exchange.first(first)
    exchange.first(b"n,,n=a,r=b")
    with pytest.raises(MqttError):
        exchange.final(final)

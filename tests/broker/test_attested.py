"""Geofences for clients alone whose position somebody vouches for."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import zonal
from broker_phones import Phone, until
from zonal.broker import Options, Service, Settings
from zonal.broker.credentials import set_password
from zonal.trust import Attester, token_to_text

DUOMO, BERLIN = zonal.Point(45.4642, 9.19), zonal.Point(52.52, 13.405)
HERE, MILANO = "45.4642,9.1900", "CIRCLE (9.19 45.4642, 500)"
ATTESTER = Attester.new()


def token(subject: str, place: zonal.Point = DUOMO, ago: float = 0, by: Attester = ATTESTER) -> str:
    return token_to_text(by.attest(subject, place, now=time.time() - ago, lifetime_s=60))


@pytest.fixture
def issuers(tmp_path: Path) -> Path:
    path = tmp_path / "issuers.pem"
    path.write_bytes(ATTESTER.public_pem)
    return path


def options(issuers: Path) -> Options:
    return Options(port=0, issuers=issuers, settings=Settings(sys_interval=0))


async def test_only_attested_clients_hear_an_attested_fence(issuers: Path) -> None:
    async with (
        Service(options(issuers)) as service,
        Phone(service, "sender") as sender,
        Phone(service, "inside", HERE) as inside,
        Phone(service, "liar", HERE) as liar,
        Phone(service, "thief", HERE) as thief,
        Phone(service, "late", HERE) as late,
        Phone(service, "elsewhere", HERE) as elsewhere,
        Phone(service, "forger", HERE) as forger,
        Phone(service, "nowhere") as nowhere,
    ):
        phones = (inside, liar, thief, late, elsewhere, forger, nowhere)
        for phone in phones:
            await phone.subscribe("t")
        await inside.publish("$zonal/location", HERE, attestation=token("inside"))
        await nowhere.publish("$zonal/location", "", attestation=token("nowhere"))
        tokens = {
            thief: token("inside"), late: token("late", ago=100),
            elsewhere: token("elsewhere", BERLIN), forger: token("forger", by=Attester.new()),
            liar: "nonsense",
        }  # fmt: skip
        for phone, text in tokens.items():
            await phone.publish("$zonal/location", HERE, qos=0, attestation=text)
        for payload in ("one", "two"):  # the second would be a heading that is known by its bytes
            await sender.publish("t", payload, geofence=MILANO, attested="true")
        await sender.client.publish("t", "kept", qos=1, retain=True)
        await sender.publish("t", "end")
        await until(lambda: all("end" in phone.payloads() for phone in phones))
        for phone in phones:
            heard = [text for text in phone.payloads() if text in {"one", "two"}]
            assert heard == (["one", "two"] if phone in {inside, nowhere} else [])
        # Without a demand it is a geofence like any other: claims will do.
        await sender.publish("t", "for all", geofence=MILANO)
        await until(lambda: all("for all" in phone.payloads() for phone in phones))


async def test_an_attestation_in_connect_lasts_for_the_connection_and_expires(
    issuers: Path,
) -> None:
    async with Service(options(issuers)) as service, Phone(service, "sender") as sender:
        connecting = [("location", HERE), ("attestation", token("a"))]
        async with Phone(service, "a", properties=connecting) as a:
            await a.subscribe("t")
            await sender.publish("t", "one", geofence=MILANO, attested="true")
            await until(lambda: a.payloads() == ["one"])
            session = service.broker.sessions["a"]
            assert session.attestation is not None
            session.attestation = session.attestation._replace(
                issued=session.attestation.issued - 99
            )
            await sender.publish("t", "two", geofence=MILANO, attested="true")
            await sender.publish("t", "end")
            await until(lambda: a.payloads() == ["one", "end"])
        # A client that comes back with an old token is let in, and attested to be nowhere.
        connecting = [("location", HERE), ("attestation", token("a", ago=100))]
        async with Phone(service, "a", properties=connecting) as a:
            await a.subscribe("t")
            await sender.publish("t", "three", geofence=MILANO, attested="true")
            await sender.publish("t", "end")
            await until(lambda: a.payloads() == ["end"])


async def test_retained_messages_ask_for_an_attested_position_too(issuers: Path) -> None:
    async with Service(options(issuers)) as service, Phone(service, "sender") as sender:
        await sender.publish("kept", "plan", retain=True, geofence=MILANO, attested="true")
        for name, heard in (("a", ["plan", "end"]), ("b", ["end"])):
            connecting = [("location", HERE), ("attestation", token("a"))]
            async with Phone(service, name, properties=connecting) as phone:
                await phone.subscribe("kept")
                await phone.subscribe("e")
                await sender.publish("e", "end")
                await until(lambda phone=phone, heard=heard: phone.payloads() == heard)


async def test_where_users_log_in_a_token_names_the_user(issuers: Path, tmp_path: Path) -> None:
    passwords = tmp_path / "passwords"
    set_password(passwords, "bus", b"secret")
    secured = Options(
        port=0, issuers=issuers, passwords=passwords, settings=Settings(sys_interval=0)
    )
    login = {"username": "bus", "password": "secret"}
    async with Service(secured) as service:
        for name, subject in (("x", "x"), ("y", "bus")):
            connecting = [("location", HERE), ("attestation", token(subject))]
            async with Phone(service, name, properties=connecting, **login):
                attestation = service.broker.sessions[name].attestation
                assert (attestation is not None) == (subject == "bus")


async def test_attested_fences_hold_between_brokers_and_for_zenoh_clients(issuers: Path) -> None:
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        joined = Options(
            port=0, issuers=issuers, connect=(router.endpoints[0],),
            settings=Settings(sys_interval=0),
        )  # fmt: skip
        config = zonal.config("client", connect=[router.endpoints[0]])
        async with (
            Service(joined) as one,
            Service(joined) as two,
            Phone(one, "sender") as sender,
            Phone(two, "a", properties=[("location", HERE), ("attestation", token("a"))]) as a,
            Phone(two, "b", HERE) as b,
        ):
            for phone in (a, b):
                await phone.subscribe("t")
            with zonal.open(config) as session:
                while not {"broker", "zenoh"} <= set(a.payloads()):
                    await sender.publish("t", "broker", geofence=MILANO, attested="true")
                    fence = zonal.Circle(DUOMO, radius_m=500)
                    session.put("t", "zenoh", geofence=fence, attested=True)
                    await until(lambda: True)
                await sender.publish("t", "end", geofence=MILANO)
                await until(lambda: "end" in b.payloads())
                assert set(b.payloads()) == {"end"}

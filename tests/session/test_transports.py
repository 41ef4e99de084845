"""The same session as client, peer and router, and over every kind of link."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

import pytest

import zonal
from network import LOOPBACK, collect, eventually, texts, wait_until_declared
from zonal.geo import Circle, Point

DUOMO = Point(45.4642, 9.1900)
AREA = Circle(DUOMO, radius_m=1000)


def exchange(sender: zonal.Session, receiver: zonal.Session) -> None:
    with receiver.declare_subscriber("city/air", area=AREA) as subscriber:
        wait_until_declared(sender, subscriber)
        sender.put("city/air", "outside", location=Point(0, 0))
        sender.put("city/air", "inside", location=DUOMO)
        assert texts(collect(subscriber, 1)) == ["inside"]
        assert subscriber.counters.received == 1


@pytest.mark.parametrize("mode", ["client", "peer", "router"])
@pytest.mark.parametrize("scheme", ["tcp", "udp"])
def test_any_mode_over_any_link(mode: str, scheme: str) -> None:
    listen = [] if mode == "client" else [f"{scheme}/127.0.0.1:0"]
    with (
        zonal.Router([f"{scheme}/127.0.0.1:0"]) as router,
        zonal.open(zonal.config(mode, connect=router.endpoints, listen=listen)) as sender,
        zonal.open(zonal.config(mode, connect=router.endpoints, listen=listen)) as receiver,
    ):
        exchange(sender, receiver)


def test_zenohs_reliable_link_over_udp() -> None:
    with (
        zonal.Router(["udp/127.0.0.1:0?rel=1"]) as router,
        zonal.open(zonal.config("client", connect=router.endpoints)) as sender,
        zonal.open(zonal.config("client", connect=router.endpoints)) as receiver,
    ):
        assert router.endpoints[0].endswith("?rel=1")
        exchange(sender, receiver)


def test_two_peers_without_a_router() -> None:
    with zonal.Router([LOOPBACK]) as probe:
        port = probe.endpoints[0].rpartition(":")[2]
    listening = zonal.config("peer", listen=[f"tcp/127.0.0.1:{port}"], scouting=False)
    with zonal.open(listening) as receiver:
        connecting = zonal.config("peer", connect=[f"tcp/127.0.0.1:{port}"])
        with zonal.open(connecting) as sender:
            exchange(sender, receiver)


@pytest.mark.parametrize("scheme", ["tls", "quic"])
def test_encrypted_links(scheme: str, tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    tls = {
        "transport/link/tls/listen_certificate": str(certificate),
        "transport/link/tls/listen_private_key": str(key),
        "transport/link/tls/root_ca_certificate": str(certificate),
        "transport/link/tls/verify_name_on_connect": False,
    }
    with zonal.Router([f"{scheme}/127.0.0.1:0"], settings=tls) as router:
        endpoints = [endpoint.replace("127.0.0.1", "localhost") for endpoint in router.endpoints]
        with (
            zonal.open(zonal.config("client", connect=endpoints, settings=tls)) as sender,
            zonal.open(zonal.config("client", connect=endpoints, settings=tls)) as receiver,
        ):
            exchange(sender, receiver)


def self_signed(folder: Path) -> tuple[Path, Path]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName(
                [
                    x509.DNSName("localhost"),
                    x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
                ]
            ),
            critical=False,
        )
        .sign(private, hashes.SHA256())
    )
    certificate_path, key_path = folder / "cert.pem", folder / "key.pem"
    certificate_path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate_path, key_path


def test_a_router_names_the_port_it_took_and_counts_its_neighbours() -> None:
    with zonal.Router([LOOPBACK]) as router:
        assert not router.endpoints[0].endswith(":0")
        assert router.neighbours == 0
        with zonal.open(zonal.config("client", connect=router.endpoints)):
            eventually(lambda: router.neighbours == 1)


def test_a_taken_port_is_a_clear_error() -> None:
    with (
        zonal.Router([LOOPBACK]) as router,
        pytest.raises(zonal.ZonalError, match="cannot start a router"),
    ):
        zonal.Router(router.endpoints)

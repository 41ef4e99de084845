"""Routers with TLS, mutual TLS and users: who is let in, and what the others are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zenoh

import zonal
from certificates import Authority, Files
from network import AT_ONCE, eventually
from zonal import Security

TLS = "tls/127.0.0.1:0"
TCP = "tcp/127.0.0.1:0"
SOON = {"connect/timeout_ms": 300}


class Trust:
    """An authority with a router and a client, and a stranger of another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ours, theirs = Authority(folder), Authority(folder, "other")
        self.ca, self.other_ca = ours.certificate, theirs.certificate
        self.router, self.client = ours.issue("router"), ours.issue("client")
        self.stranger = theirs.issue("stranger")
        self.users = folder / "users"
        self.users.write_text("anna:secret\nbruno:word\n")


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return Trust(tmp_path_factory.mktemp("trust"))


def files(given: Files) -> dict[str, Any]:
    return given._asdict()


@pytest.fixture(scope="module")
def strict(trust: Trust) -> Iterator[zonal.Router]:
    """A router that wants TLS, a certificate, a user and a password."""
    security = Security(**files(trust.router), client_ca=trust.ca, users=trust.users)
    with zonal.Router([TLS], security=security, settings=AT_ONCE) as router:
        yield router


def reach(router: zonal.Router, security: Security) -> None:
    with zonal.open(zonal.config("client", connect=router.endpoints, security=security)) as session:
        eventually(lambda: list(session.zenoh.info.routers_zid()))


def test_who_has_all_that_is_asked_for_is_let_in(strict: zonal.Router, trust: Trust) -> None:
    reach(
        strict,
        Security(ca=trust.ca, **files(trust.client), user="anna", password="secret"),
    )


def test_what_is_wrong_is_said(strict: zonal.Router, trust: Trust) -> None:
    anna: dict[str, Any] = {"user": "anna", "password": "secret"}
    refused = {
        "user or password is wrong": Security(
            ca=trust.ca, **files(trust.client), user="anna", password="guess"
        ),
        "want a user and a password": Security(ca=trust.ca, **files(trust.client)),
        "it wants a certificate of ours": Security(ca=trust.ca, **anna),
        "it does not trust our certificate": Security(ca=trust.ca, **files(trust.stranger), **anna),
        "its certificate is not trusted": Security(
            ca=trust.other_ca, **files(trust.client), **anna
        ),
    }
    for said, security in refused.items():
        with pytest.raises(zonal.NetworkError, match=said) as caught:
            reach(strict, security)
        assert "guess" not in str(caught.value)
        assert "secret" not in str(caught.value)


def test_a_protocol_that_is_not_spoken_is_said(strict: zonal.Router, trust: Trust) -> None:
    plain = [each.replace("tls/", "tcp/") for each in strict.endpoints]
    with pytest.raises(zonal.NetworkError, match="it speaks TLS"):
        zonal.open(zonal.config("client", connect=plain, settings=SOON))
    with zonal.Router([TCP], settings=AT_ONCE) as router:
        encrypted = [each.replace("tcp/", "tls/") for each in router.endpoints]
        security = Security(ca=trust.ca)
        config = zonal.config("client", connect=encrypted, security=security, settings=SOON)
        with pytest.raises(zonal.NetworkError, match="does not speak TLS"):
            zonal.open(config)


def test_a_plain_client_without_credentials_gets_no_byte(
    strict: zonal.Router, trust: Trust
) -> None:
    bare = zonal.config(
        "client",
        connect=strict.endpoints,
        security=Security(ca=trust.ca),
        settings=SOON,
    )
    with pytest.raises(zenoh.ZError):
        zenoh.open(bare)


def test_users_alone_are_enough_for_a_door(trust: Trust) -> None:
    (trust.folder / "password").write_text("word\n")
    with zonal.Router(
        ["tcp/0.0.0.0:0"], security=Security(users=trust.users), settings=AT_ONCE
    ) as router:
        port = router.endpoints[0].rpartition(":")[2]
        config = zonal.config(
            "client",
            connect=[f"tcp/127.0.0.1:{port}"],
            security=Security(user="bruno", password_file=trust.folder / "password"),
        )
        with zonal.open(config):
            pass


OPEN_DOORS = ["tcp/0.0.0.0:0", "tcp/[::]:0", "udp/192.0.2.1:7447", "ws/example.org:80"]


@pytest.mark.parametrize("endpoint", OPEN_DOORS)
def test_a_door_for_anybody_beyond_this_machine_is_refused(endpoint: str) -> None:
    with pytest.raises(zonal.ConfigurationError, match="anybody from beyond this machine"):
        zonal.open(zonal.config(listen=[endpoint]))
    with pytest.raises(zonal.ConfigurationError, match="anybody from beyond this machine"):
        zonal.Router([endpoint])


def test_encryption_alone_asks_nobody_who_he_is(trust: Trust) -> None:
    with pytest.raises(zonal.ConfigurationError, match="anybody from beyond this machine"):
        zonal.Router(["tls/0.0.0.0:0"], security=Security(**files(trust.router)))
    mutual = Security(**files(trust.router), client_ca=trust.ca)
    with pytest.raises(zonal.ConfigurationError, match=r"^tcp/0\.0\.0\.0:0 would"):
        zonal.Router(["tls/0.0.0.0:0", "tcp/0.0.0.0:0"], security=mutual)
    zonal.Router(["tls/0.0.0.0:0"], security=mutual, settings=AT_ONCE).close()


def test_what_is_meant_so_is_done() -> None:
    zonal.Router(["tcp/0.0.0.0:0"], insecure=True, settings=AT_ONCE).close()
    zonal.open(zonal.config(listen=["tcp/0.0.0.0:0"], scouting=False), insecure=True).close()


def listens_at(session: zonal.Session) -> list[str]:
    """Where a session listens, as it tells its admin space."""
    zid = session.zenoh.info.zid()
    (reply,) = session.get(f"@/{zid}/peer", timeout=5)
    return list(reply.json()["locators"])


def test_a_peer_that_was_told_nothing_listens_on_this_machine_alone() -> None:
    config = zonal.config(scouting=False, settings={"adminspace/enabled": True})
    before = str(config)
    with zonal.open(config) as session:
        assert all("127.0.0.1" in each for each in listens_at(session))
    assert str(config) == before
    with zonal.open(config, insecure=True) as session:
        assert listens_at(session) != []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"certificate": "c.pem"}, "needs its key"),
        ({"user": "anna"}, "needs a password"),
        ({"password": "x"}, "needs a password, and a password its user"),
        ({"user": "a", "password": "x", "password_file": "y"}, "either in a file"),
        ({"ca": "a", "client_ca": "b", "certificate": "c", "key": "d"}, "one file of authorities"),
        ({"client_ca": "b"}, "one of our own"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(zonal.ConfigurationError, match=said):
        Security(**given)  # type: ignore[arg-type]


def test_files_are_looked_at_before_anything_is_opened(tmp_path: Path) -> None:
    with pytest.raises(zonal.ConfigurationError, match="no such file"):
        zonal.config(security=Security(ca=tmp_path / "none.pem"))
    users = tmp_path / "users"
    users.write_text("anna:secret\nbruno\n")
    with pytest.raises(zonal.ConfigurationError, match="line 2: expected user:password"):
        zonal.config(security=Security(users=users))
    (tmp_path / "empty").touch()
    with pytest.raises(zonal.ConfigurationError, match="no password"):
        zonal.config(security=Security(user="anna", password_file=tmp_path / "empty"))


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(Security(user="anna", password="secret"))


def test_a_session_takes_the_file_that_commands_take(strict: zonal.Router, trust: Trust) -> None:
    (trust.folder / "zonal.toml").write_text(
        f"""
[zenoh]
mode = "client"
connect = {list(strict.endpoints)}
ca = "ca.pem"
certificate = "client.pem"
key = "client.key"
user = "anna"
password = "secret"

[broker]
port = 1883
""".replace("'", '"')
    )
    with zonal.open(zonal.config(file=trust.folder / "zonal.toml")) as session:
        assert list(session.zenoh.info.routers_zid())
    wrong = trust.folder / "wrong.toml"
    wrong.write_text('[zenoh]\n\nconect = ["tcp/127.0.0.1:7447"]\n')
    with pytest.raises(zonal.ConfigurationError, match=r"line 3, \[zenoh\] conect.*connect\?"):
        zonal.config(file=wrong)

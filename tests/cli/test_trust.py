"""`zonal attest` and `zonal keys`, run as an operator runs them."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command_line import line_with, running_zonal
from command_line import run_zonal as run
from network import (
    LOOPBACK,
    client,
    collect,
    eventually,
    texts,
    wait_for_answerer,
    wait_until_declared,
)
from zonal.cli import app
from zonal.session import Router


@pytest.fixture
def router() -> Iterator[Router]:
    with Router([LOOPBACK]) as running:
        yield running


def zonal(*words: str | Path) -> str:
    done = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def refused(*words: str | Path) -> str:
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 1
    return done.output


def test_keys_and_tokens_are_made_and_verified(tmp_path: Path) -> None:
    key = tmp_path / "attester.pem"
    zonal("attest", "key", key)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    token = zonal("attest", "issue", "bus-7", "45.4642,9.19", "--key", key).strip()
    said = json.loads(zonal("attest", "show", token, "--json"))
    assert (said["subject"], said["verified"]) == ("bus-7", False)
    verified = ["attest", "show", token, "--issuers", tmp_path / "attester.pem.pub"]
    inside = ["--area", "circle:45.4642,9.19,50m", "--subject", "bus-7"]
    assert "verified  True" in zonal(*verified, *inside)
    assert "none of 'bus-8'" in refused(*verified, "--subject", "bus-8")
    assert "outside" in refused(*verified, "--area", "circle:45,9,50m")
    assert "is there already" in refused("attest", "key", key)


def test_an_operator_attests_and_gives_keys_and_a_receiver_inside_reads(
    router: Router, tmp_path: Path
) -> None:
    where = ["--connect", router.endpoints[0]]
    for name in ("attester.pem", "keys.pem"):
        zonal("attest", "key", tmp_path / name)
    zonal("keys", "secret", tmp_path / "duomo.secret")
    (tmp_path / "zones.toml").write_text(
        '[duomo]\narea = "circle:45.4642,9.19,500m"\nsecret = "duomo.secret"\n'
    )
    locator = tmp_path / "where-is"
    locator.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        "print('45.4642,9.19' if json.load(sys.stdin)['evidence'] == 'beacon' else '')\n"
    )
    locator.chmod(0o700)
    public = tmp_path / "attester.pem.pub"
    attest = ["attest", "serve", "--key", tmp_path / "attester.pem", "--locator", locator]
    keys = ["keys", "serve", tmp_path / "zones.toml", "--key", tmp_path / "keys.pem"]
    with (
        running_zonal(*map(str, attest), *where) as attesting,
        running_zonal(*map(str, [*keys, "--issuers", public]), *where) as serving,
        client(router) as inside,
    ):
        line_with("answers", attesting, attesting.stderr)
        line_with("are served", serving, serving.stderr)
        wait_for_answerer(inside.zenoh, "@zonal/attest/attester")
        wait_for_answerer(inside.zenoh, "@zonal/keys/duomo")
        inside.trust([public.read_bytes(), (tmp_path / "keys.pem.pub").read_bytes()])
        inside.request_attestation("attester", b"beacon")
        inside.keyring.join("duomo")
        subscriber = inside.declare_subscriber("city/plan")
        with client(router) as sender:
            wait_until_declared(sender, subscriber)
        sealed = ["-g", "circle:45.4642,9.19,500m", "--sealed", "duomo", "--attested",
                  "--secret", f"duomo={tmp_path / 'duomo.secret'}"]  # fmt: skip
        done = run("pub", "city/plan", "the plan", *sealed, *where)
        assert done.returncode == 0, done.stderr
        assert texts(collect(subscriber, 1)) == ["the plan"]
        trusted = tmp_path / "trusted.pem"
        trusted.write_bytes(public.read_bytes() + (tmp_path / "keys.pem.pub").read_bytes())
        joining = ["--zone", "duomo", "--attester", "attester", "--issuers", str(trusted)]
        listen = ["sub", "city/plan", "--json", "-n", "1", *joining, *where]
        with running_zonal(*listen, "--evidence", "beacon") as listening:
            line_with("listening", listening, listening.stderr)

            def published() -> bool:
                assert run("pub", "city/plan", "again", *sealed, *where).returncode == 0
                return listening.poll() is not None

            eventually(published, timeout=60)
            assert json.loads(listening.communicate(timeout=20)[0])["payload"] == "again"
        assert "refused" in run(*listen, "--evidence", "guess").stderr


def test_files_that_are_no_keys_are_refused_with_what_to_do(tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_text("nonsense")
    zonal("attest", "key", tmp_path / "key")
    assert "zonal attest key" in refused("attest", "issue", "a", "45,9", "--key", bad)
    keys = ["--key", tmp_path / "key", "--issuers", tmp_path / "key.pub"]
    assert "no TOML" in refused("keys", "serve", bad, *keys)
    sealed = ["pub", "t", "x", "--sealed", "duomo", "--secret"]
    assert "NAME=FILE" in refused(*sealed, "duomo")
    assert "zonal keys secret" in refused(*sealed, f"duomo={bad}")

"""`zonal rules` and `zonal router --rules`."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
import zenoh
from typer.testing import CliRunner

import zonal
from command_line import line_with, running_zonal
from network import eventually
from zonal.cli.rules import app
from zonal.keys import encode_place

MILANO = "POLYGON ((9.04 45.38, 9.28 45.38, 9.28 45.54, 9.04 45.54, 9.04 45.38))"
RULES = f"""
[[rule]]
name = "press hears Milano"
who = "press"
allow = ["subscribe", "query"]
topics = "city/#"
area = "{MILANO}"

[[rule]]
name = "admin"
who = "admin"
allow = ["publish", "subscribe"]

[[rule]]
name = "keys"
who = "keys"
allow = "subscribe"
topics = ["#", "@zonal/#"]
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.toml"
    path.write_text(RULES)
    return path


def test_check_says_what_is_right_and_what_is_wrong(rules: Path) -> None:
    done = CliRunner().invoke(app, ["check", str(rules)])
    assert done.exit_code == 0
    assert "3 rules that name 3 users" in done.output
    rules.write_text(RULES.replace('"query"', '"ask"'))
    wrong = CliRunner().invoke(app, ["check", str(rules)])
    assert wrong.exit_code == 1
    assert "line 5: rule allow: 'ask'" in str(wrong.exception)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("press subscribe city/# --area circle:45.46,9.19,1km", 0, "allowed by press hears Milano"),
        ("press subscribe city/#", 0, "what is left lies in POLYGON"),
        ("press subscribe city/# --area circle:52.5,13.4,1km", 1, "refused: no rule allows"),
        ("press query city/air --at 45.4642,9.19", 0, "allowed by press hears Milano"),
        ("press publish city/air --at 45.4642,9.19", 1, "refused: no rule allows"),
        ("admin publish x --at 52.5,13.4", 0, "allowed by admin"),
        ("anonymous subscribe city/air", 1, "refused"),
        ("admin publish @home/door --at 52.5,13.4", 0, "not at a Zenoh router"),
        ("admin publish city/@x --at 52.5,13.4", 0, "not at a Zenoh router"),
        ("keys subscribe @zonal/keys/#", 0, "allowed by keys"),
    ],
)
def test_explain_names_the_rule_that_decides(
    rules: Path, words: str, status: int, said: str
) -> None:
    done = CliRunner().invoke(app, ["explain", *words.split(), "--rules", str(rules)])
    assert done.exit_code == status, done.output
    assert said in done.output
    assert ("router" in said) == ("router" in done.output)


def test_compile_prints_what_a_router_reads(rules: Path) -> None:
    done = CliRunner().invoke(app, ["compile", str(rules), "--user", "guest"])
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    config = zenoh.Config()
    config.insert_json5("access_control", json.dumps(document["access_control"]))
    assert "times its area" in done.stderr
    line = CliRunner().invoke(app, ["compile", str(rules), "--user", "guest", "--json"])
    assert json.loads(line.stdout)["access_control"] == document["access_control"]


def test_a_router_takes_rules_and_takes_them_anew(rules: Path, tmp_path: Path) -> None:
    users = tmp_path / "users.txt"
    users.write_text("press:p\nadmin:p\n")
    arguments = ["router", "--json", "-l", "tcp/127.0.0.1:0", "--users", str(users)]
    with running_zonal(*arguments, "--rules", str(rules)) as router:
        (endpoint, *_) = json.loads(line_with("endpoints", router, router.stdout))["endpoints"]

        def open_as(user: str) -> zenoh.Session:
            where = "transport/auth/usrpwd"
            settings = {f"{where}/user": user, f"{where}/password": "p"}
            return zenoh.open(zonal.config("client", connect=[endpoint], settings=settings))

        with open_as("press") as press, open_as("admin") as admin:
            heard: list[str] = []
            press.declare_subscriber("city/**/@s2/**", lambda s: heard.append(str(s.key_expr)))
            (milano,) = encode_place(zonal.Point(45.4642, 9.19), "s2")
            (berlin,) = encode_place(zonal.Point(52.52, 13.405), "s2")

            def put() -> bool:
                admin.put(f"city/air/{berlin.expression}", b"")
                admin.put(f"city/air/{milano.expression}", b"")
                return bool(heard)

            eventually(put)
            assert set(heard) == {f"city/air/{milano.expression}"}
            # Everywhere from now on; sessions come back by themselves.
            rules.write_text(RULES.replace(f'area = "{MILANO}"\n', ""))
            router.send_signal(signal.SIGHUP)
            eventually(lambda: put() and f"city/air/{berlin.expression}" in heard, timeout=30)

"""`zonal.toml`: the same for every command, checked with line and key, and overruled by options."""

from __future__ import annotations

import contextlib
import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from certificates import Authority
from command_line import line_with, run_zonal, running_zonal
from network import AT_ONCE, LOOPBACK, eventually
from zonal import ConfigurationError, Router, Security
from zonal.cli import app
from zonal.cli.commands import COMMANDS
from zonal.runtime import SettingsFile

ROOT: Any = typer.main.get_command(app)

WRONG = """\
[zenoh]
conect = ["tcp/127.0.0.1:7447"]
mode = "client"

[broker]
# a comment
prot = 5
port = "abc"
sync = "yes"
passwords = "nobody"
limit = [
  "maximum_qos=1",
]
listener = { mqtt = 1 }

[brocker]
port = 1

[web]
port = true

[mesh]
periode = 2

[logging]
level = "loud"
"""


class Said(NamedTuple):
    """What a command ended with."""

    returncode: int
    stdout: str
    stderr: str


def run(*words: str, cwd: Path | None = None, environ: dict[str, str] | None = None) -> Said:
    """Run a command to its end, in this process."""
    with contextlib.chdir(cwd or Path.cwd()):
        done = CliRunner().invoke(app, list(words), env=environ or {})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Said(done.exit_code, done.stdout, done.stderr)


def check(folder: Path, text: str) -> list[str]:
    file = folder / "zonal.toml"
    file.write_text(text)
    done = run("config", "check", cwd=folder)
    assert done.returncode == (1 if done.stderr else 0), done
    return done.stderr.splitlines()


def test_what_is_wrong_is_told_with_line_and_key_and_what_was_meant(tmp_path: Path) -> None:
    told = check(tmp_path, WRONG)
    expected = [
        "line 2, [zenoh] conect: no such key; did you mean connect?",
        "line 7, [broker] prot: no such key; did you mean port?",
        "line 8, [broker] port: ",
        "line 9, [broker] sync: must be true or false, not 'yes'",
        "line 10, [broker] passwords: ",
        "line 14, [broker] listener: must be ",
        "line 16, [brocker]: no such section; did you mean broker?",
        "line 20, [web] port: must be a number or text, not True",
        "line 23, [mesh] periode: no such key; did you mean period?",
        "line 26, [logging] level: 'loud' is no log level",
    ]
    assert len(told) == len(expected), told
    for line, part in zip(told, expected, strict=True):
        assert part in line


def test_a_file_that_is_no_toml_says_where(tmp_path: Path) -> None:
    (line,) = check(tmp_path, "[zenoh]\nconnect = client\n")
    assert "line 2" in line
    (line,) = check(tmp_path, "connect = 1\n")
    assert "line 1, connect: stands in no section" in line
    assert "cannot read" in run("pub", "t", "x", "--config", "none.toml").stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[zenoh]\nuser = "anna"\n', "line 1, [zenoh]: a user needs a password"),
        ('[zenoh]\nca = "none.pem"\n', "line 1, [zenoh]: no such file"),
        ('[zenoh]\nconnect = ["7447"]\n', "line 1, [zenoh]: an endpoint is protocol/address"),
        ('[web]\n[router]\nlisten = ["tcp/0.0.0.0:1"]\n', "line 2, [router]: tcp/0.0.0.0:1 would"),
    ],
)
def test_parts_that_do_not_belong_together_are_told(tmp_path: Path, text: str, said: str) -> None:
    (line,) = check(tmp_path, text)
    assert said in line


def test_a_file_without_mistakes_is_right(tmp_path: Path) -> None:
    assert (
        check(tmp_path, "[broker]\nport = 0\n[recorder]\nlog = 'log'\n[mesh]\nperiod = 2\n") == []
    )
    assert run("config", "check", "--json", cwd=tmp_path).stdout.endswith('"wrong": []}\n')


def test_a_command_refuses_a_wrong_file_that_it_reads(tmp_path: Path) -> None:
    (tmp_path / "zonal.toml").write_text('[store]\nttl = "soon"\n')
    refused = run("store", cwd=tmp_path)
    assert refused.returncode == 1
    assert "zonal.toml, line 2, [store] ttl" in refused.stderr
    named = run("store", environ={"ZONAL_CONFIG": str(tmp_path / "zonal.toml")})
    assert "line 2, [store] ttl" in named.stderr


def test_a_file_is_made_by_the_command_whose_section_names_it(tmp_path: Path) -> None:
    (tmp_path / "zonal.toml").write_text('[broker]\npasswords = "users"\n')
    assert "line 2, [broker] passwords" in run("broker", cwd=tmp_path).stderr
    made = run("broker", "passwd", "users", "anna", "--password", "x", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "users").exists()


def test_every_command_that_connects_takes_certificates_and_credentials() -> None:
    for name in COMMANDS:
        for command in commands_below(ROOT.get_command(None, name)):
            names = {param.name for param in command.params}
            assert {"config", "log_level", "log_format"} <= names
            if "connect" in names:
                prefix = "" if name == "router" else "zenoh_"
                wanted = {f"{prefix}{field}" for field in Security.__slots__}
                assert wanted <= names, command.name


def commands_below(command: Any) -> Iterator[Any]:
    yield command
    for inner in getattr(command, "commands", {}).values():
        yield from commands_below(inner)


LINES = st.lists(
    st.sampled_from(["", "# [b]", "x = 1", 'y = """', "key", '"""', "z = [", "1,", "]", "[b]"]),
    max_size=8,
)


@given(before=LINES, after=LINES)
def test_the_line_of_a_key_is_where_it_begins(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], after: list[str]
) -> None:
    file = tmp_path_factory.getbasetemp() / "lines.toml"
    file.write_text("\n".join(["[a]", *before, "[section]", "key = [", "1]", *after]))
    try:
        read = SettingsFile(file)
    except ConfigurationError:
        return
    if "section" in read.sections:
        assert read.line(("section", "key")) == len(before) + 3
        assert read.line(("section",)) == len(before) + 2


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Router]:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("router")
    (tmp_path / "users").write_text("anna:secret\n")
    security = Security(certificate=certificate, key=key, users=tmp_path / "users")
    with Router([LOOPBACK.replace("tcp", "tls")], security=security, settings=AT_ONCE) as running:
        yield running


def write(folder: Path, connect: str, more: str = "") -> Path:
    file = folder / "zonal.toml"
    access = 'ca = "ca.pem"\nuser = "anna"\npassword = "secret"\n'
    file.write_text(f'[zenoh]\nconnect = ["{connect}"]\n{access}{more}')
    return file


def test_commands_join_by_the_file_and_options_win(router: Router, tmp_path: Path) -> None:
    file = write(tmp_path, router.endpoints[0], "[sub]\ncount = 1\njson = true\n")
    with running_zonal("sub", "t", "--config", str(file)) as listening:
        line_with("listening", listening, listening.stderr)

        def published() -> bool:
            done = run("pub", "t", "x", environ={"ZONAL_CONFIG": str(file)})
            assert done.returncode == 0, done.stderr
            return listening.poll() is not None

        eventually(published, timeout=60)
        assert json.loads(listening.communicate(timeout=20)[0])["payload"] == "x"
    refused = run("pub", "t", "x", "--zenoh-user", "bruno", "--config", str(file))
    assert refused.returncode == 1
    assert "user or password is wrong" in refused.stderr
    assert "secret" not in refused.stderr
    here = run("pub", "t", "x", cwd=tmp_path)
    assert here.returncode == 0, here.stderr
    without = run("pub", "t", "x", "-e", router.endpoints[0])
    assert "its certificate is not trusted" in without.stderr


def test_what_is_hidden_where_the_configuration_is_shown(router: Router, tmp_path: Path) -> None:
    more = (
        '[broker]\ndata = "postgresql://zonal:pw-of-db@db/zonal"\n'
        '[recorder]\nlog = "log"\nflush = 2.5\n[feed]\nheader = ["X-Key: 0815"]\n'
    )
    file = write(tmp_path, router.endpoints[0], more)
    shown = run("config", "show", "--config", str(file)).stdout
    assert 'password = "***"' in shown
    assert 'zenoh_password = "***"' in shown
    assert "postgresql://zonal:***@db/zonal" in shown
    assert f'log = "{tmp_path / "log"}"' in shown
    assert "flush = 2.5" in shown
    assert '# name = "recorder"' in shown
    for secret in ("secret", "pw-of-db", "0815"):
        assert secret not in shown
    one = json.loads(run("config", "show", "recorder", "--json", cwd=tmp_path).stdout)
    assert one["recorder"]["flush"] == 2.5
    assert one["recorder"]["zenoh_user"] == "anna"


def test_a_router_of_the_file_serves_tls_and_users(tmp_path: Path) -> None:
    Authority(tmp_path).issue("router")
    (tmp_path / "users").write_text("anna:secret\n")
    section = (
        '[router]\nlisten = ["tls/127.0.0.1:0"]\ncertificate = "router.pem"\nkey = "router.key"\n'
        'users = "users"\njson = true\n'
    )
    write(tmp_path, "tls/127.0.0.1:1", section)
    with running_zonal("router", cwd=tmp_path) as process:
        (endpoint,) = json.loads(line_with("endpoints", process, process.stdout))["endpoints"]
        done = run("pub", "t", "x", "-e", endpoint, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        bare = run("pub", "t", "x", "-e", endpoint, "--zenoh-ca", str(tmp_path / "ca.pem"))
        assert "may want a user and a password" in bare.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("router", "--listen", "tcp/0.0.0.0:0"),
        ("broker", "--host", "0.0.0.0", "--port", "0"),
        ("broker", "--port", "0", "--listen", "tcp/0.0.0.0:0"),
        ("mesh", "node", "--host", "0.0.0.0", "--peer", "7=127.0.0.1:4000", "--socket", "SOCKET"),
        ("serve", "--host", "0.0.0.0", "--port", "0", "-e", "ROUTER"),
    ],
    ids=" ".join,
)
def test_a_door_for_anybody_is_refused_unless_it_is_meant(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    with Router([LOOPBACK], settings=AT_ONCE) as router:
        given = {"ROUTER": router.endpoints[0], "SOCKET": str(tmp_path / "socket")}
        check_door(*(given.get(word, word) for word in words))


def test_a_peer_of_the_command_line_is_no_door_for_anybody(tmp_path: Path) -> None:
    words = ("pub", "t", "x", "--mode", "peer", "-e", "scout", "--no-zenoh-scouting")
    assert run(*words, "--zenoh-listen", "tcp/127.0.0.1:0").returncode == 0
    assert "from beyond this machine" in run(*words, "--zenoh-listen", "tcp/0.0.0.0:0").stderr
    (tmp_path / "zonal.toml").write_text('[zenoh]\nlisten = ["tcp/0.0.0.0:0"]\n')
    assert "from beyond this machine" in run(*words, cwd=tmp_path).stderr


def check_door(*words: str) -> None:
    refused = run_zonal(*words)
    assert refused.returncode == 1
    assert "insecure" in refused.stderr
    assert "Traceback" not in refused.stderr
    with running_zonal(*words, "--insecure", "--json") as process:
        assert json.loads(line_with("{", process, process.stdout))


@pytest.mark.parametrize(
    "words",
    [("store", "--data", "kept"), ("record", "log"), ("history", "--log", "log", "--serve")],
    ids=lambda words: words[0],
)
def test_services_serve_their_figures(words: tuple[str, ...], tmp_path: Path) -> None:
    with Router([LOOPBACK], settings=AT_ONCE) as router:
        options = ("-e", router.endpoints[0], "--metrics", "0", "--log-format", "json")
        with running_zonal(*words, *options, cwd=tmp_path) as process:
            told = json.loads(line_with("serves figures", process, process.stderr))
            with urllib.request.urlopen(f"http://{told['address']}/metrics", timeout=10) as answer:
                page = answer.read().decode()
    name = {"record": "recorder"}.get(words[0], words[0])
    assert re.search(rf"^zonal_{name}_\w+_total 0$", page, re.MULTILINE)

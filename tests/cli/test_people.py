"""What a person at a terminal, and a program at the other end of a pipe, can rely on."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
from typer._completion_classes import BashComplete, FishComplete, ZshComplete
from typer.testing import CliRunner

from command_line import environment, line_with, run_zonal, running_zonal
from network import LOOPBACK, eventually
from zonal.cli import app
from zonal.cli.certificates import certificate_facts
from zonal.cli.commands import COMMANDS, EXTRAS
from zonal.cli.examples import EXAMPLES
from zonal.errors import CommandError
from zonal.session import Router

ROOT: Any = typer.main.get_command(app)
SOURCES = Path(sys.modules["zonal.cli.main"].__file__ or "").parent
SAYS_NOTHING = {
    "attest issue",
    "attest key",
    "attest serve",
    "keys secret",
    "keys serve",
    "broker bridge",
    "broker kick",
    "broker passwd",
    "completion",
    "demo",
    "export",
    "mesh key",
    "mesh pub",
    "pipeline submit",
    "pub",
}
"""Commands whose output is no data."""


@pytest.fixture
def router() -> Iterator[Router]:
    with Router([LOOPBACK]) as running:
        yield running


def leaves(command: Any, words: str) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", {})
    if not inner or command.invoke_without_command:
        yield words, command
    for name, each in inner.items():
        yield from leaves(each, f"{words} {name}")


ALL = {
    words: command
    for name in COMMANDS
    for words, command in leaves(ROOT.get_command(None, name), name)
}


@pytest.mark.parametrize("words", ALL)
def test_every_command_shows_an_example_that_it_takes(words: str) -> None:
    command, name = ALL[words], words.rpartition(" ")[2]
    for line in EXAMPLES[words]:
        called = line.removeprefix('eval "$(').removesuffix(')"').partition(" > ")[0]
        parts = shlex.split(called)
        assert parts[: 1 + len(words.split())] == ["zonal", *words.split()]
        command.make_context(name, parts[1 + len(words.split()) :], resilient_parsing=True)
        assert line in CliRunner().invoke(app, [*words.split(), "-h"]).output


def test_there_are_no_examples_of_what_there_is_not() -> None:
    assert EXAMPLES.keys() == ALL.keys()


@pytest.mark.parametrize("words", sorted(ALL.keys() - SAYS_NOTHING))
def test_what_prints_data_can_print_json(words: str) -> None:
    assert "--json" in {name for option in ALL[words].params for name in option.opts}


def test_what_is_said_to_print_no_data_is_there_and_does_not() -> None:
    assert ALL.keys() >= SAYS_NOTHING
    for words in SAYS_NOTHING:
        assert "--json" not in {name for option in ALL[words].params for name in option.opts}


# Pipes


def test_nothing_is_wrapped_or_coloured_in_a_pipe() -> None:
    shown = run_zonal("encode", "circle:45.46,9.19,20km", environ={"COLUMNS": "40"})
    record = json.loads(run_zonal("encode", "circle:45.46,9.19,20km", "--json").stdout)
    assert record["keys"]["json"][0] in shown.stdout
    refused = run_zonal("mesh", "node", "--no-such-option", environ={"COLUMNS": "40"})
    assert "No such option: --no-such-option" in refused.stderr
    for text in (shown.stdout, refused.stderr):
        assert "\x1b" not in text
        assert "╭" not in text


@pytest.mark.parametrize("words", ALL)
def test_a_mistake_is_told_in_one_line_by_every_command(words: str) -> None:
    refused = CliRunner().invoke(
        app, [*words.split(), "--no-such-option"], env={"COLUMNS": "40"}, color=False
    )
    assert refused.exit_code == 2
    assert "No such option: --no-such-option" in refused.stderr
    assert "\x1b" not in refused.stderr


def test_tables_and_progress_go_to_the_one_console_that_does_not_wrap_in_a_pipe() -> None:
    made = [
        path.name for path in SOURCES.glob("*.py") if re.search(r"\bConsole\(", path.read_text())
    ]
    assert made == ["output.py"]


# Completion


@pytest.mark.parametrize("words", ALL)
def test_every_option_of_every_command_is_completed(words: str) -> None:
    wanted = {
        name
        for option in ALL[words].params
        if option.param_type_name == "option" and not option.hidden
        for name in option.opts
        if name.startswith("--")
    }
    for complete in (BashComplete, ZshComplete, FishComplete):
        shell = complete(ROOT, {}, "zonal", "_ZONAL_COMPLETE")
        found = shell.get_completions(words.split(), "--")
        assert {item.value for item in found} >= wanted
        assert all(shell.format_completion(item) for item in found)


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """An environment in which `zonal` is a command."""
    script = tmp_path / "zonal"
    script.write_text(f"#!{sys.executable}\nfrom zonal.cli import app\napp()\n")
    script.chmod(0o755)
    return {**environment(), "PATH": f"{tmp_path}:{os.environ['PATH']}"}


def shell(name: str, script: str, environ: dict[str, str]) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    run = subprocess.run(
        [path, "-c", script], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    return run.stdout


def test_bash_completes_commands_and_options(installed: dict[str, str]) -> None:
    script = """
        eval "$(zonal completion bash)"
        COMP_WORDS=(zonal re) COMP_CWORD=1; _zonal_completion zonal; echo "${COMPREPLY[@]}"
        COMP_WORDS=(zonal sub x --po) COMP_CWORD=3; _zonal_completion zonal; echo "${COMPREPLY[@]}"
    """
    commands, options = shell("bash", script, installed).splitlines()
    assert commands.split() == ["record", *(["replay"] if "replay" in COMMANDS else [])]
    assert options.split() == ["--position"]


def test_fish_completes_commands_and_options(installed: dict[str, str]) -> None:
    script = "zonal completion fish | source; complete -C 'zonal enc'; complete -C 'zonal sub --po'"
    found = [line.partition("\t")[0] for line in shell("fish", script, installed).splitlines()]
    assert found == ["encode", "--position"]


def test_zsh_completes_commands_and_options(installed: dict[str, str]) -> None:
    """In a terminal, by its own keys: Tab, then to the beginning of the line to show it."""
    script = r"""
        zmodload zsh/zpty
        zpty inner zsh -f -i
        zpty -w inner 'bindkey -e; autoload -U compinit; compinit -u'
        zpty -w inner 'eval "$(zonal completion zsh)"; echo ready-$((1 + 1))'
        zpty -r inner before '*ready-2*'
        for line in 'zonal enc' 'zonal sub x --posi'; do
            zpty -w inner "$line"$'\t\C-aecho got='
            zpty -r inner shown $'*\ngot=zonal*\n*'
            print -r -- "$shown"
        done
    """
    shown = shell("zsh", script, installed)
    assert re.findall(r"^got=(.*?)\s*$", shown, re.MULTILINE) == [
        "zonal encode",
        "zonal sub x --position",
    ]


@pytest.mark.parametrize("name", ["zsh", "fish"])
def test_zsh_and_fish_are_answered_as_their_scripts_ask(
    name: str, installed: dict[str, str]
) -> None:
    script = shell("bash", f"zonal completion {name}", installed)
    assert "_ZONAL_COMPLETE" in script
    asked = {
        "_ZONAL_COMPLETE": f"complete_{name}",
        "_TYPER_COMPLETE_ARGS": "zonal enc",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    assert "encode" in shell("bash", "zonal", {**installed, **asked})


# Missing packages

NEEDED = {"broker": "broker", "web": "web", "feeds": "feeds", "pipeline": "pipeline"}
"""The packages of ours that need an extra, which has the same name."""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_needs_an_extra_is_known_to(command: str) -> None:
    """Whoever imports such a package, at its top or when it runs, is listed in EXTRAS."""
    path = SOURCES / f"{command}.py"
    used = set(re.findall(r"(?:from|import) zonal\.(\w+)", path.read_text()))
    used |= set(re.findall(r"from zonal import (\w+)", path.read_text()))
    assert not (used & NEEDED.keys()) or command in EXTRAS


NOT_THERE = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""
ARGUMENTS = {
    "record": ["record", "LOG"],
    "pipeline": ["pipeline", "show", "LAKE"],
    "history": ["history", "--log", "LOG"],
    "feed": ["feed", "gtfs", "x.pb"],
    "replay": ["replay", "LOG"],
    "export": ["export", "LAKE", "-o", "x.csv"],
    "sql": ["sql", "select 1", "LAKE"],
    "attest": ["attest", "key", "K"],
    "keys": ["keys", "serve", "x.pb", "--key", "x.pb", "--issuers", "x.pb"],
    "token": ["token", "FILE", "anna", "--read", "**"],
}


@pytest.mark.parametrize("command", EXTRAS)
def test_a_command_without_its_packages_says_what_to_install(command: str, tmp_path: Path) -> None:
    names = {
        "cryptography",
        "mqtt5",
        "uvloop",
        "uvicorn",
        "starlette",
        "pyarrow",
        "pyspark",
        "duckdb",
        "google",
        "httpx",
    }
    (tmp_path / "x.pb").touch()
    (tmp_path / "sitecustomize.py").write_text(NOT_THERE.format(names=names))
    done = run_zonal(*ARGUMENTS.get(command, [command]), paths=[tmp_path], cwd=tmp_path, fresh=True)
    assert done.returncode == 1
    assert f"pip install 'zonal[{EXTRAS[command]}]'" in done.stderr
    assert "Traceback" not in done.stderr


# Configuration


def test_a_configuration_of_zenoh_is_taken(router: Router, tmp_path: Path) -> None:
    file = tmp_path / "zenoh.json5"
    file.write_text(f'{{mode: "client", connect: {{endpoints: ["{router.endpoints[0]}"]}}}}')
    with running_zonal("sub", "t", "--json", "-n", "1", "--zenoh-json5", str(file)) as listening:
        line_with("listening", listening, listening.stderr)

        def published() -> bool:
            assert run_zonal("pub", "t", "x", "--zenoh-json5", str(file)).returncode == 0
            return listening.poll() is not None

        eventually(published, timeout=60)
        record = json.loads(listening.communicate(timeout=20)[0])
    assert datetime.now(UTC) - datetime.fromisoformat(record["timestamp"]) < timedelta(minutes=5)
    file.write_text("{mode: nonsense}")
    refused = run_zonal("pub", "t", "x", "--zenoh-json5", str(file))
    assert "is no configuration of Zenoh" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_serving_without_a_router_says_so() -> None:
    refused = run_zonal("serve", "--port", "0", "-e", "tcp/127.0.0.1:1")
    assert refused.returncode == 1
    assert "is a router running there?" in refused.stderr
    assert "Traceback" not in refused.stderr


# The doctor


def findings(*arguments: str) -> dict[str, dict[str, str]]:
    lines = run_zonal("doctor", "--json", *arguments).stdout.splitlines()
    return {record["what"]: record for record in map(json.loads, lines)}


def make_certificate(folder: Path, days: int) -> tuple[Path, Path]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    own = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "zonal.example")])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name).issuer_name(name).public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=99)).not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("zonal.example")]), False)
        .sign(own, hashes.SHA256())
    )  # fmt: skip
    certificate, key = folder / f"{days}.pem", folder / f"{days}.key"
    certificate.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        own.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate, key


def test_the_doctor_says_what_is_wrong_and_what_to_do(router: Router, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        dead = f"tcp/127.0.0.1:{taken.getsockname()[1]}"
    endpoint = router.endpoints[0]
    valid, key = make_certificate(tmp_path, 400)
    found = findings("-e", endpoint, "-e", dead, "--certificate", str(valid), "--key", str(key))
    assert found[f"router {endpoint}"]["state"] == "ok"
    assert "Zenoh" in found[f"router {endpoint}"]["said"]
    assert found[f"router {dead}"]["state"] == "fail"
    assert "zonal router" in found[f"router {dead}"]["remedy"]
    assert found["Java"]["state"] in {"ok", "note"}
    assert not any("fail" in each["state"] for what, each in found.items() if dead not in what)
    assert found["port 8000"]["state"] in {"ok", "note"}
    assert found[f"certificate {valid}"]["state"] == "ok"
    assert "zonal.example" in found[f"certificate {valid}"]["said"]


def test_the_doctor_asks_for_no_router_that_nobody_named() -> None:
    """The first thing that a new user runs ends well."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", 7447)) == 0:
            pytest.skip("a router is running here")
    done = run_zonal("doctor", "--json", environ={"ZONAL_CONFIG": ""})
    assert done.returncode == 0, done.stdout
    last = json.loads(done.stdout.splitlines()[-1])
    assert (last["state"], last["remedy"]) == ("note", "zonal router")


def test_certificates_that_do_not_serve(tmp_path: Path) -> None:
    (old, old_key), (soon, soon_key) = (make_certificate(tmp_path, days) for days in (-2, 5))
    assert certificate_facts(soon, soon_key).days_left == 4
    for certificate, key, said in [
        (old, old_key, "expired"),
        (old, soon_key, "do not fit together"),
        (tmp_path / "none.pem", old_key, "cannot read"),
    ]:
        with pytest.raises(CommandError, match=said):
            certificate_facts(certificate, key)

"""What runs it elsewhere: image, compose file, units, dashboard and wheel fit the program."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from command_line import run_zonal
from network import LOOPBACK
from zonal import __version__
from zonal.broker import Broker
from zonal.cli import app
from zonal.cli.router import router_page
from zonal.pipeline.recorder import RecorderCounters
from zonal.pipeline.service import ServiceCounters
from zonal.runtime import counted
from zonal.session import Router
from zonal.store.store import StoreCounters
from zonal.web.metrics import Metrics

ROOT = Path(__file__).parents[1]
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
NEEDED_BY_ALL = {
    "eclipse-zenoh", "mgrs", "msgspec", "numpy", "rich", "s2geometry", "shapely", "typer", "utm",
}  # fmt: skip
"""What the product needs without any extra; whatever else is heavy belongs to one."""
COMMANDS: Any = typer.main.get_command(app)


def check_command(words: list[str]) -> None:
    """Whether the command line takes these words; files that it wants need not be there."""
    command, name, rest = COMMANDS.get_command(None, words[0]), words[0], words[1:]
    while rest and rest[0] in getattr(command, "commands", {}):
        command, name, rest = command.commands[rest[0]], rest[0], rest[1:]
    command.make_context(name, rest, resilient_parsing=True)


def compose() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return loaded


def test_services_run_commands_that_there_are() -> None:
    described = compose()
    ours = {name: each for name, each in described["services"].items() if "command" in each}
    assert ours.keys() == {
        "router", "broker", "recorder", "store", "history", "web", "pipeline",
    }  # fmt: skip
    for each in ours.values():
        check_command(each["command"])
        assert each["read_only"]
        assert each["cap_drop"] == ["ALL"]
    profiles = {name: each.get("profiles") for name, each in described["services"].items()}
    assert profiles["grafana"] == profiles["prometheus"] == ["metrics"]


def test_services_use_what_is_declared_and_listen_on_this_machine_only() -> None:
    described = compose()
    for each in described["services"].values():
        for volume in each.get("volumes", ()):
            source = volume.partition(":")[0]
            if source.startswith("./"):
                assert (ROOT / source).exists(), source
            else:
                assert source in described["volumes"]
        assert set(each.get("secrets", ())) <= described["secrets"].keys()
        assert all(port.startswith("127.0.0.1:") for port in each.get("ports", ()))


def test_the_image_is_made_of_what_is_there_and_is_not_root() -> None:
    text = (ROOT / "Containerfile").read_text()
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE):
        assert all((ROOT / name).exists() for name in line.split())
    assert int(re.findall(r"^USER (\d+)$", text, re.MULTILINE)[-1]) > 0
    check_command(json.loads(re.findall(r"^CMD (.*)$", text, re.MULTILINE)[-1]))
    (health,) = re.findall(r"HEALTHCHECK.*\\\n\s+CMD (.*)$", text, re.MULTILINE)
    check_command(shlex.split(json.loads(health)[-1])[1:])
    kept = set((ROOT / ".containerignore").read_text().split())
    assert kept == set((ROOT / ".dockerignore").read_text().split())
    assert {"!src", "!pyproject.toml", "!README.md", "!LICENSE", "!constraints.txt"} <= kept


def test_every_part_is_scraped() -> None:
    yaml = pytest.importorskip("yaml")
    scraped = yaml.safe_load((ROOT / "deploy" / "prometheus.yml").read_text())
    targets = scraped["scrape_configs"][0]["static_configs"][0]["targets"]
    services = compose()["services"]
    assert {name.partition(":")[0] for name in targets} <= services.keys()
    for target in targets:
        name, _, port = target.partition(":")
        if name != "web":
            assert f"0.0.0.0:{port}" in services[name]["command"]


def test_the_annotated_configuration_is_right(tmp_path: Path) -> None:
    (tmp_path / "zonal.toml").write_text((ROOT / "deploy" / "zonal.toml").read_text())
    for name in ("zenoh-users", "zenoh-password", "passwords", "tokens.toml"):
        (tmp_path / name).write_text("city:secret\n")
    checked = run_zonal("config", "check", str(tmp_path / "zonal.toml"))
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_starts_a_command_that_there_is(path: Path, tmp_path: Path) -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(path)
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert program == "/opt/zonal/bin/zonal"
    check_command(words)
    needed = unit["Unit"].get("Requires")
    assert needed is None or (path.parent / needed).is_file()
    if shutil.which("systemd-analyze") is None:
        return
    for each in UNITS:  # the program is not installed here
        text = each.read_text().replace(program, "/bin/true")
        (tmp_path / each.name).write_text(text)
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", tmp_path / path.name.replace("@.", "@one.")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    complaints = [line for line in checked.stderr.splitlines() if path.name in line]
    assert complaints == []


def test_every_service_of_the_compose_file_has_a_unit() -> None:
    ours = {name for name, each in compose()["services"].items() if "command" in each}
    assert {f"zonal-{name}" for name in ours} <= {path.stem for path in UNITS}


def test_the_newest_release_of_the_changelog_is_this_version() -> None:
    newest = re.findall(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    assert newest == __version__


def figures_that_there_are() -> set[str]:
    """The names of all figures, from the pages that services serve."""
    with Router([LOOPBACK]) as router:
        pages = [
            Metrics().to_text(),
            Broker().figures.exposition(0.0),
            router_page(router),
            counted("zonal_store", StoreCounters(), things=0),
            counted("zonal_recorder", RecorderCounters(*[0] * 9), waiting=0, next_offset=0),
            counted("zonal_history", ServiceCounters()),
        ]
    return set(re.findall(r"^# TYPE (zonal_\w+)", "".join(pages), re.MULTILINE))


def test_the_dashboard_shows_figures_that_there_are_of_every_service() -> None:
    path = ROOT / "deploy" / "grafana" / "dashboards" / "zonal.json"
    text = path.read_text()
    named = set(re.findall(r"zonal_\w+", text))
    assert named <= figures_that_there_are()
    for service in ("router", "broker", "store", "recorder", "history"):
        assert any(name.startswith(f"zonal_{service}_") for name in named), service
    panels = json.loads(text)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) >= 20


@pytest.fixture(scope="module")
def wheel() -> Iterator[Path]:
    pytest.importorskip("hatchling")
    folder = Path(tempfile.mkdtemp(prefix="zonal-wheel-"))
    folder.chmod(0o755)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (path,) = folder.glob("*.whl")
    yield path
    shutil.rmtree(folder)


def test_the_wheel_has_the_product_and_nothing_else(wheel: Path) -> None:
    assert wheel.name == f"zonal-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith("METADATA"))
        described = archive.read(metadata).decode()
    assert {"zonal/py.typed", "zonal/web/page/index.html", "zonal/web/page/docs.js"} <= set(names)
    assert all(name.startswith(("zonal/", "zonal-")) for name in names)
    required = re.findall(r"^Requires-Dist: ([\w-]+)(.*)$", described, re.MULTILINE)
    assert {name for name, rest in required if "extra" not in rest} == NEEDED_BY_ALL
    extras = set(re.findall(r"^Provides-Extra: (.*)$", described, re.MULTILINE))
    assert {"broker", "web", "feeds", "pipeline", "demo"} <= extras


def test_the_source_distribution_makes_the_same_wheel_without_a_repository(
    wheel: Path, tmp_path: Path
) -> None:
    build = [sys.executable, "-m", "hatchling", "build"]
    subprocess.run([*build, "-t", "sdist", "-d", str(tmp_path)], cwd=ROOT, check=True, timeout=120)
    (packed,) = tmp_path.glob("*.tar.gz")
    assert packed.stat().st_size < 6_000_000
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    made = tmp_path / "wheel"
    subprocess.run([*build, "-t", "wheel", "-d", str(made)], cwd=folder, check=True, timeout=120)
    with zipfile.ZipFile(next(made.glob("*.whl"))) as other, zipfile.ZipFile(wheel) as first:
        assert set(other.namelist()) == set(first.namelist())


def unprivileged() -> dict[str, int]:
    """Another user for a process, where this one may and the interpreter is for others to use."""
    nobody = {"user": 10001, "group": 10001}
    try:
        subprocess.run([sys.executable, "-c", "import zenoh"], check=True, **nobody)  # type: ignore[call-overload]
    except (PermissionError, subprocess.CalledProcessError):
        return {}
    return nobody


def test_the_installed_wheel_runs_by_itself(wheel: Path) -> None:
    place, data = wheel.parent / "root" / "opt" / "zonal", wheel.parent / "root" / "data"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    data.mkdir()
    identity = unprivileged()
    if identity:
        os.chown(data, identity["user"], identity["group"])
    clean = {"PATH": os.environ["PATH"], "PYTHONPATH": str(place), "HOME": str(data)}

    def zonal(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-B", "-m", "zonal", *words], cwd=data, env=clean,
            capture_output=True, text=True, timeout=60, check=False, **identity,  # type: ignore[call-overload]
        )  # fmt: skip

    assert zonal("--version").stdout == f"zonal {__version__}\n"
    with Router([LOOPBACK]) as router:
        (endpoint,) = router.endpoints
        well = zonal("doctor", "--json", "--connect", endpoint)
    assert well.returncode == 0, well.stdout + well.stderr
    found = [json.loads(line) for line in well.stdout.splitlines()]
    assert f"router {endpoint}" in {each["what"] for each in found if each["state"] == "ok"}

"""What the page of the configuration shows is right: its files, its Python, its words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command_line import run_zonal

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("ca.pem", "router.pem", "router.key", "passwords"):
        (tmp_path / name).touch()
    for name in ("zenoh-password", "zenoh-users"):
        (tmp_path / name).write_text("city:secret\n")
    return tmp_path


def test_the_files_on_the_page_are_right(folder: Path) -> None:
    (folder / "zonal.toml").write_text("\n".join(blocks("toml")))
    done = run_zonal("config", "check", cwd=folder)
    assert done.returncode == 0, done.stderr


def test_the_python_on_the_page_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "zonal.toml").write_text(blocks("toml")[0])
    monkeypatch.chdir(folder)
    for block in blocks("python"):
        exec(compile(block, "configuration.md", "exec"), {})


def test_every_event_of_the_log_is_on_the_page() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "src" / "zonal").rglob("*.py"))
    events = set(re.findall(r'"event": "([a-z ]+)"', sources))
    (listed,) = re.findall(r"`event` is one of (.*?)\. ", PAGE)
    assert events == set(re.findall("`([a-z ]+)`", listed))

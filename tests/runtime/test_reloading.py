"""Files are read anew when they change or when it is asked for; what is wrong changes nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from network import eventually
from zonal.errors import ConfigurationError
from zonal.runtime import Reloads


def test_a_file_that_changed_is_read_anew_once(tmp_path: Path) -> None:
    file, read = tmp_path / "file", list[str]()
    file.write_text("one")
    with Reloads(look_s=0.01) as reloads:
        reloads.watch("file", [file], lambda: read.append(file.read_text()))
        file.write_text("two!")
        eventually(lambda: read == ["two!"])
        fresh = tmp_path / "fresh"
        fresh.write_text("six!")
        fresh.replace(file)  # as careful editors do
        eventually(lambda: read == ["two!", "six!"])
        reloads.ask()
        eventually(lambda: read == ["two!", "six!", "six!"])


def test_what_cannot_be_read_is_logged_and_looked_at_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, good = tmp_path / "file", list[str]()
    file.write_text("right")

    def reload() -> None:
        if file.read_text() != "right":
            raise ConfigurationError("line 1 is wrong")
        good.append("read")

    with caplog.at_level("INFO", "zonal.runtime"), Reloads(look_s=0.01) as reloads:
        reloads.watch("file", [file], reload)
        file.write_text("wrong")
        eventually(lambda: "line 1 is wrong" in caplog.text)
        file.unlink()
        eventually(lambda: "No such file" in caplog.text)
        file.write_text("right")
        eventually(lambda: good)
    assert "Traceback" not in caplog.text


def test_sighup_reads_everything_anew(tmp_path: Path) -> None:
    file, read = tmp_path / "file", list[int]()
    file.touch()
    before = signal.getsignal(signal.SIGHUP)
    try:
        with Reloads(look_s=60) as reloads:
            reloads.watch("file", [file], lambda: read.append(1))
            reloads.on_hangup()
            os.kill(os.getpid(), signal.SIGHUP)
            eventually(lambda: read == [1])
    finally:
        signal.signal(signal.SIGHUP, before)

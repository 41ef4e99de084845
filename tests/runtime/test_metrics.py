"""Figures for Prometheus, and the door that they are fetched by."""

from __future__ import annotations

import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from zonal.errors import ConfigurationError, NetworkError
from zonal.runtime import Family, MetricsDoor, MetricsServer, counted, figures


def fetch(port: int, path: str = "/metrics", token: str | None = None) -> str:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(answer.read().decode())


@dataclass
class Counted:
    written: int = 3
    waiting: int = 2


def test_counters_and_gauges_are_told_apart() -> None:
    page = counted("zonal_x", Counted(), waiting=2, open=0.5)
    assert "# TYPE zonal_x_written_total counter\nzonal_x_written_total 3\n" in page
    assert "# TYPE zonal_x_waiting gauge\nzonal_x_waiting 2\n" in page
    assert "zonal_x_open 0.5\n" in page


def test_labels_are_escaped() -> None:
    family = Family("gauge", "What.", ("topic",))
    *_, line = figures("zonal_y", family, {('a"b\\c\nd',): 1.0})
    assert line == r'zonal_y{topic="a\"b\\c\nd"} 1'


def test_figures_are_served_and_nothing_else() -> None:
    with MetricsServer(MetricsDoor("127.0.0.1", 0), lambda: "page\n") as server:
        assert fetch(server.port) == "page\n"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetch(server.port, "/")


def test_a_token_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    door = MetricsDoor.read("127.0.0.1:0", tmp_path / "token")
    with MetricsServer(door, lambda: "page\n") as server:
        assert fetch(server.port, token="abc") == "page\n"
        for wrong in (None, "abd", ""):
            with pytest.raises(urllib.error.HTTPError, match="401"):
                fetch(server.port, token=wrong)


def test_where_figures_are_served(tmp_path: Path) -> None:
    assert MetricsDoor.read("9464") == ("127.0.0.1", 9464, None)
    assert MetricsDoor.read("[::1]:9464") == ("::1", 9464, None)
    with pytest.raises(ConfigurationError, match="for anybody"):
        MetricsDoor.read("0.0.0.0:9464")
    assert MetricsDoor.read("0.0.0.0:9464", insecure=True).host == "0.0.0.0"
    with pytest.raises(ConfigurationError, match="a port is a number"):
        MetricsDoor.read("here")
    (tmp_path / "token").touch()
    with pytest.raises(ConfigurationError, match="no token"):
        MetricsDoor.read("9464", tmp_path / "token")


def test_a_port_that_is_taken_is_said() -> None:
    with MetricsServer(MetricsDoor("127.0.0.1", 0), str) as server:
        again = MetricsServer(MetricsDoor("127.0.0.1", server.port), str)
        with pytest.raises(NetworkError, match="cannot serve figures"):
            again.__enter__()

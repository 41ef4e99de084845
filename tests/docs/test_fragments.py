"""The pieces of Python on the manual's pages run in the surroundings that they take for granted."""

from __future__ import annotations

import ast
import random
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import zonal
from network import LOOPBACK, client
from zonal.session import Router, Session

DOCS = Path(__file__).parents[2] / "docs"
RUN_ELSEWHERE = {
    "configuration.md": 1,
    "for-zenoh.md": 1,
    "now.md": 1,
    "session.md": 1,
    "start.md": 1,
    "subscription-index.md": 2,
    "trust.md": 1,
    "tutorials/a-fence-that-protects.md": 2,
    "tutorials/alert-a-district.md": 1,
    "tutorials/follow-a-bus.md": 1,
}
"""How many whole programs of a page other tests run."""
ONLY_READ = {"lab.md": 1, "pipeline.md": 2, "trust.md": 1}
"""Pieces that need Spark, namespaces or an attester: their parts are tested with those."""


def pieces(name: str) -> list[str]:
    found = re.findall(r"```python\n(.*?)```", (DOCS / name).read_text("utf-8"), re.DOTALL)
    return list(found)


HERE = {"feeds.md": 1, "keys.md": 1, "mesh.md": 1, "now.md": 1, "pipeline.md": 1, "session.md": 4}


def test_every_piece_of_python_on_every_page_is_run_or_read() -> None:
    counted = {
        name: sum(table.get(name, 0) for table in (RUN_ELSEWHERE, ONLY_READ, HERE))
        for name in RUN_ELSEWHERE | ONLY_READ | HERE
    }
    there = {str(page.relative_to(DOCS)): len(pieces(str(page))) for page in DOCS.rglob("*.md")}
    assert {name: count for name, count in there.items() if count} == counted


@pytest.mark.parametrize("name", ONLY_READ)
def test_what_is_only_read_is_python(name: str) -> None:
    for code in pieces(name):
        ast.parse(code)


class Gps:
    """A receiver that is always at the same place."""

    def read(self) -> zonal.Point:
        return zonal.Point(45.46, 9.19)


@pytest.fixture
def session() -> Iterator[Session]:
    with Router([LOOPBACK]) as router, client(router, position=Gps().read()) as running:
        running.put("warm", b"")
        yield running


def surroundings(session: Session) -> dict[str, Any]:
    words = {name: getattr(zonal, name) for name in ("Box", "Circle", "Point")}
    return {
        "zonal": zonal,
        "Grid": zonal.geo.Grid,
        "session": session,
        "config": zonal.config("peer", listen=[LOOPBACK], scouting=False),
        "payload": b"21",
        "gps": Gps(),
        "area": zonal.Circle((45.46, 9.19), radius_m=1000),
        **words,
    }


def run(code: str, names: dict[str, Any]) -> None:
    """Run a piece of a page; a loop over what comes ends after its first round."""
    ended = re.sub(r"^( *)(for .*:\n.*)$", r"\1\2\n\1    break", code, flags=re.MULTILINE)
    exec(compile(ended, "page", "exec"), names)


@contextmanager
def speaking(session: Session, key: str, **options: Any) -> Iterator[None]:
    """Somebody says something again and again."""
    stop = threading.Event()

    def say() -> None:
        while not stop.wait(0.05):
            session.put(key, {"id": "7"}, **options)

    thread = threading.Thread(target=say)
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.mark.parametrize("number", [0, 1, 2, 4])
def test_pieces_of_the_session_page(session: Session, number: int) -> None:
    with speaking(session, "city/airquality", location=(45.46, 9.19)):
        run(pieces("session.md")[number], surroundings(session))


def test_the_bloom_domain_of_the_page_of_keys(session: Session) -> None:
    run(pieces("keys.md")[0], surroundings(session))


def test_the_fence_of_the_page_about_now(session: Session, capsys: pytest.CaptureFixture) -> None:
    with speaking(session, "city/bus/7", location=(45.46, 9.19)):
        run(pieces("now.md")[1], surroundings(session))
    assert capsys.readouterr().out.startswith("enter ")


def test_the_node_of_the_page_of_the_mesh(capsys: pytest.CaptureFixture) -> None:
    (code,) = pieces("mesh.md")
    port = random.SystemRandom().randrange(20_000, 30_000)
    run(code.replace("mesh.Discovery()", f'mesh.Discovery(["lo"], port={port})'), {})
    assert capsys.readouterr().out.startswith("street/a/noise")


def test_a_receiver_is_the_position_of_a_session(session: Session) -> None:
    (code,) = pieces("feeds.md")
    names = surroundings(session)
    report = b'{"class":"TPV","mode":3,"lat":45.46,"lon":9.19,"time":"2026-11-16T12:00:00Z"}\n'
    with socket.create_server(("127.0.0.1", 0)) as gpsd:

        def answer() -> None:
            connection, _ = gpsd.accept()
            with connection:
                connection.sendall(report)

        thread = threading.Thread(target=answer)
        thread.start()
        code = code.replace("localhost:2947", f"127.0.0.1:{gpsd.getsockname()[1]}")
        run(code.replace("zonal.open(", "zonal.open(config, "), names)
        thread.join()
    assert names["around_me"].area == zonal.Circle((45.46, 9.19), radius_m=500)


def test_other_tools_read_the_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deltalake = pytest.importorskip("deltalake")
    pyarrow = pytest.importorskip("pyarrow")
    rows = pyarrow.table({"zone": ["west", "east"], "pm10": [21.0, 88.0]})
    deltalake.write_deltalake(tmp_path / "data" / "lake" / "silver", rows)
    monkeypatch.chdir(tmp_path)
    run(pieces("pipeline.md")[2], {})

"""The snippets of README.md run as they stand (only the router's port is another)."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import line_with, run_zonal, running_zonal
from network import LOOPBACK, client, collect, eventually, texts, wait_until_declared
from zonal.geo import Circle, Point
from zonal.session import Router

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DUOMO = Point(45.4642, 9.19)


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.fixture
def router() -> Iterator[Router]:
    with Router([LOOPBACK]) as running:
        yield running


def test_the_publish_snippet_publishes(router: Router) -> None:
    with client(router) as session:
        subscriber = session.declare_subscriber("city/airquality", area=Circle(DUOMO, radius_m=100))
        code = snippets("python")[0].replace("tcp/127.0.0.1:7447", router.endpoints[0])
        with client(router) as probe:
            wait_until_declared(probe, subscriber)
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
        assert texts(collect(subscriber, 1)) == ['{"pm10": 21}']


def test_the_subscribe_snippet_hears_what_is_around_it(router: Router) -> None:
    code = snippets("python")[1].replace("tcp/127.0.0.1:7447", router.endpoints[0])
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        with client(router) as session:
            eventually(lambda: router.neighbours >= 2)
            publisher = session.declare_publisher("city/airquality", location=DUOMO)
            assert process.stdout is not None
            lines: list[str] = []

            def heard() -> bool:
                publisher.put("21")
                import select

                ready, _, _ = select.select([process.stdout], [], [], 0.1)
                if ready:
                    lines.append(process.stdout.readline())
                return bool(lines)

            eventually(heard)
            assert lines[0] == f"city/airquality {DUOMO} 21\n"
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def test_the_commands_work_in_their_order(router: Router) -> None:
    (block,) = snippets("console")
    commands = [shlex.split(line.removeprefix("$ ")) for line in block.strip().splitlines()]
    assert [command[1] for command in commands] == ["router", "sub", "pub", "pub", "encode"]
    connect = ["-e", router.endpoints[0]]
    with running_zonal(*commands[1][1:], *connect, "-n", "1") as listening:
        line_with("listening", listening, listening.stderr)

        def published() -> bool:
            for command in commands[2:4]:
                assert run_zonal(*command[1:], *connect).returncode == 0
            return listening.poll() is not None

        eventually(published, timeout=60)
        output, _ = listening.communicate(timeout=20)
    assert output == 'city/airquality  45.46420, 9.19000  {"pm10": 21}\n'
    assert "@s2/2/03/30" in run_zonal(*commands[4][1:]).stdout


@pytest.mark.parametrize(
    "example",
    # Those of the pipeline need a Spark, and run with its own tests.
    sorted(p.name for p in (ROOT / "examples").glob("*.py") if not p.name.startswith("pipeline_")),
)
def test_every_example_runs(example: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / example)],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()

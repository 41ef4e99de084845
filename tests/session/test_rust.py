"""A program in another language, written from the wire format alone, hears us and is heard."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from network import client, eventually, router_row, wait_for_match
from zonal.geo import Circle, Point, cell_of, destination, level_for_size
from zonal.keys import encoding_named, message_keys
from zonal.session import Router

CRATE = Path(__file__).parents[2] / "examples" / "rust"
DUOMO = Point(45.4642, 9.19)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_800),
    pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo here"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: cargo writes a lock file, which names the index of whoever builds."""
    copy = tmp_path_factory.mktemp("crate") / CRATE.name
    shutil.copytree(CRATE, copy, ignore=shutil.ignore_patterns("target", "Cargo.lock"))
    target = Path(os.environ.get("CARGO_TARGET_DIR") or copy / "target")
    before = set(CRATE.rglob("*"))
    built = subprocess.run(
        ["cargo", "build", "--quiet", "--target-dir", str(target)],
        cwd=copy,
        check=False,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    assert set(CRATE.rglob("*")) == before
    return target / "debug" / "zonal-example"


@pytest.fixture
def router() -> Iterator[Router]:
    with router_row(1) as (router,):
        yield router


def test_we_hear_what_it_publishes(program: Path, router: Router) -> None:
    heard: list[tuple[Point | None, str]] = []
    with client(router) as session:
        subscriber = session.declare_subscriber(
            "rust/air",
            lambda sample: heard.append((sample.location, sample.payload.to_string())),
            area=Circle(DUOMO, radius_m=500),
        )
        with client(router) as other:
            for key in subscriber.declared_keys:
                wait_for_match(other.zenoh, key)
        for bearing, text in ((0.0, "outside"), (90.0, "inside")):
            place = destination(DUOMO, bearing, 600 - bearing * 2)
            command = [str(program), router.endpoints[0], "pub", "rust/air"]
            subprocess.run([*command, str(place.lat), str(place.lon), text], check=True, timeout=60)
        eventually(lambda: heard)
        assert heard == [(destination(DUOMO, 90.0, 420.0), "inside")]


def test_it_hears_what_we_publish(program: Path, router: Router) -> None:
    places = {
        "near": Point(45.4651, 9.1912),
        "doubles": destination(DUOMO, 33.0, 321.0),
        "fixed": Point(45.4633, 9.1888),
    }
    command = [str(program), router.endpoints[0], "sub", "rust/air", str(DUOMO.lat), str(DUOMO.lon)]
    with (
        subprocess.Popen([*command, "500"], stdout=subprocess.PIPE, text=True) as listener,
        client(router) as session,
    ):
        try:
            assert listener.stdout is not None
            assert listener.stdout.readline() == "ready\n"
            for place in (DUOMO, *places.values()):
                (key,) = message_keys("rust/air", place, None, encoding_named("s2"))
                wait_for_match(session.zenoh, key)
            session.put("rust/air", "outside", location=destination(DUOMO, 0.0, 501.0))
            session.put("rust/air", "near", location=places["near"])
            session.put("rust/air", "doubles", location=places["doubles"])
            session.put("rust/air", "blurred", location=DUOMO, precision_m=100)
            session.declare_publisher("rust/air", location=places["fixed"]).put("fixed")
            lines = [listener.stdout.readline().split() for _ in range(4)]
        finally:
            listener.terminate()
    heard = {text: Point(float(lat), float(lon)) for lat, lon, text in lines}
    cell = cell_of(DUOMO, level_for_size(100, step=2))
    assert heard.pop("blurred").distance_m(cell.center) < 1
    assert heard == places

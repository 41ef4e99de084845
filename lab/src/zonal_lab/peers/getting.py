"""Peers' programs from the public registries, at pinned versions, by each registry's own client.

Every program is built in a folder of its own below `build` of the folder that `Programs` looks in,
and laid beside it under the name that `Programs` asks for. A version that is there is not got
again, and what somebody laid there is left alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from zonal_lab.errors import EmulationError, PlanError
from zonal_lab.peers.programs import MissingProgramError, Programs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Made = dict[str, Path]
    Make = Callable[["_Place"], Made]

_ZENOH_CRATES = ("zenohd", "zenoh-plugin-rest", "zenoh-plugin-mqtt")
_ZENOH_WORKSPACE = """\
[workspace]
resolver = "2"
members = [{members}]
[profile.release]
codegen-units = 1
lto = "fat"
panic = "abort"
"""
"""The profile is that of Zenoh's own releases."""
_WANTED = """\
[package]
name = "wanted"
version = "0.0.0"
edition = "2021"
[workspace]
[dependencies]
{crates}
"""
ELSEWHERE = {
    "tile38-server": "Tile38's authors have it",
    "mosquitto-newer": "a Mosquitto of your own",
    "GeoBroker-Server.jar": "its authors have the source alone",
    "redis-server": "Debian's redis-server",
    "mosquitto": "Debian's mosquitto",
    "psql": "Debian's postgresql-15-postgis-3",
    "java": "Debian's default-jdk-headless",
    "node": "Debian's nodejs",
}
"""Programs that no registry has for an ordinary client: who has them."""


@dataclass(frozen=True)
class _Place:
    """A folder to build in, and what is wanted."""

    folder: Path
    version: str

    def run(self, *command: str | Path, **variables: str) -> None:
        """Run a program here; what it says is kept in `log`."""
        with (self.folder / "log").open("ab") as log:
            try:
                done = subprocess.run(  # noqa: S603 - the clients of registries
                    [str(each) for each in command],
                    cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    check=False, env=_environment(variables),
                )  # fmt: skip
            except OSError as error:
                raise EmulationError(f"{command[0]}: {error.strerror}") from error
        if done.returncode:
            raise EmulationError(f"{Path(command[0]).name} failed: see {self.folder / 'log'}")

    def write(self, name: str, text: str) -> None:
        """A file here."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _environment(variables: dict[str, str]) -> dict[str, str]:
    # A path to our packages is none of theirs.
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables


def _go(package: str, binary: str, name: str) -> Make:
    def make(place: _Place) -> Made:
        place.run("go", "install", f"{package}@v{place.version}", GOBIN=str(place.folder / "bin"))
        return {name: place.folder / "bin" / binary}

    return make


def _cargo(place: _Place) -> Made:
    # Without its lock file: metrics 0.22.1, which that names, no longer compiles.
    root = place.folder / "root"
    place.run("cargo", "install", "rumqttd", "--version", f"={place.version}", "--root", root)
    return {"rumqttd": root / "bin" / "rumqttd"}


def _zenoh(place: _Place) -> Made:
    """The router and its plug-ins in one workspace: it loads those of its own features alone."""
    crates = "\n".join(f'{each} = "={place.version}"' for each in _ZENOH_CRATES)
    place.write("wanted/Cargo.toml", _WANTED.format(crates=crates))
    place.write("wanted/src/lib.rs", "")
    manifest = place.folder / "wanted" / "Cargo.toml"
    place.run("cargo", "vendor", "--quiet", "--manifest-path", manifest, place.folder / "vendor")
    members = ", ".join(f'"vendor/{each}"' for each in _ZENOH_CRATES)
    place.write("Cargo.toml", _ZENOH_WORKSPACE.format(members=members))
    place.run("cargo", "build", "--release", "--workspace")
    names = ("zenohd", "libzenoh_plugin_rest.so", "libzenoh_plugin_mqtt.so")
    return {each: place.folder / "target" / "release" / each for each in names}


def _npm(place: _Place) -> Made:
    place.run(
        "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
        "--prefix", place.folder, f"aedes@{place.version}",
    )  # fmt: skip
    return {"aedes": place.folder}


def _virtual_environment(place: _Place, package: str) -> Path:
    place.run(sys.executable, "-m", "venv", "--clear", place.folder / "env")
    place.run(place.folder / "env/bin/pip", "install", "--quiet", f"{package}=={place.version}")
    return place.folder / "env"


def _amqtt(place: _Place) -> Made:
    return {"amqtt": _virtual_environment(place, "amqtt") / "bin" / "amqtt"}


def _sedona(place: _Place) -> Made:
    """Its Spark; Spark itself fetches Sedona's package, as it will when it is measured."""
    environment = _virtual_environment(place, "pyspark")
    place.run(environment / "bin/python", Path(__file__).with_name("joins_sedona.py"))
    return {"sedona": environment}


@dataclass(frozen=True)
class Recipe:
    """How a program is got.

    Attributes:
        version: which.
        make: gets it into a folder: names and where they lie.
        names: all that it makes.
    """

    version: str
    make: Make
    names: tuple[str, ...]


RECIPES = {
    "nats-server": Recipe(
        "2.15.2", _go("github.com/nats-io/nats-server/v2", "nats-server", "nats-server"),
        ("nats-server",),
    ),
    "mochi-mqtt": Recipe(
        "2.7.9", _go("github.com/mochi-mqtt/server/v2/cmd", "cmd", "mochi-mqtt"), ("mochi-mqtt",)
    ),
    "rumqttd": Recipe("0.20.0", _cargo, ("rumqttd",)),
    "zenohd": Recipe(
        "1.10.2", _zenoh, ("zenohd", "libzenoh_plugin_rest.so", "libzenoh_plugin_mqtt.so")
    ),
    "aedes": Recipe("1.2.0", _npm, ("aedes",)),
    "amqtt": Recipe("0.12.1", _amqtt, ("amqtt",)),
    "sedona": Recipe("4.0.1", _sedona, ("sedona",)),
}  # fmt: skip
"""Programs by name, from Go's module proxy, crates.io, npm and PyPI (for Sedona: PySpark)."""


def get_programs(folder: Path, names: Sequence[str] = ()) -> Iterator[str]:
    """Get these, or all, into a folder; a line for each of what became of it.

    One that fails does not keep the others; in the end an `EmulationError` names those that failed.
    """
    if unknown := set(names) - RECIPES.keys():
        raise PlanError(
            f"no recipe for {', '.join(sorted(unknown))}; there is {', '.join(RECIPES)}"
        )
    failed = []
    for name in names or RECIPES:
        try:
            yield f"{name}: {_got(folder.absolute(), name)}"
        except EmulationError as error:
            failed.append(name)
            yield f"{name}: {error}"
    if failed:
        raise EmulationError(f"not got: {', '.join(failed)}")


def version_got(folder: Path | None, name: str) -> str | None:
    """The version of a program that was got into a folder; None of one's own."""
    if folder is None:
        return None
    stamp = folder / "build" / name / "version"
    return stamp.read_text(encoding="utf-8") if stamp.exists() else None


def lacking(folder: Path) -> Iterator[str]:
    """What the experiment could use, no recipe makes, and is neither there nor on the path."""
    found = Programs(folder)
    for name, whose in ELSEWHERE.items():
        try:
            found.find(name)
        except MissingProgramError:
            yield f"{name}: not there; {whose}"


def _got(folder: Path, name: str) -> str:
    recipe, place, before = RECIPES[name], folder / "build" / name, version_got(folder, name)
    missing = [each for each in recipe.names if not (folder / each).exists()]
    if len(missing) < len(recipe.names) and before is None:
        if missing:
            raise EmulationError(f"there, of your own, but without {', '.join(missing)}")
        return "there, of your own"
    if not missing and before == recipe.version:
        return f"{recipe.version} is there"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    _lay(folder, recipe.make(_Place(place, recipe.version)))
    (place / "version").write_text(recipe.version, encoding="utf-8")
    return f"got {recipe.version}"


def _lay(folder: Path, made: Made) -> None:
    for name, path in made.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(path)

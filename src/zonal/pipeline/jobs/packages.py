"""What Spark fetches by its coordinates when it first starts: Delta, and S3's file system.

Spark resolves them itself and keeps them (`~/.ivy2.5.2`, or `spark.jars.ivy`). What PySpark has
already is left out: 13 MB instead of 90.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_PACKAGES, _EXCLUDES, _IVY = "spark.jars.packages", "spark.jars.excludes", "spark.jars.ivy"
# Of these PySpark brings its own, mostly newer ones. AWS's bundle would be 690 MB: of its services
# S3 and the one that gives credentials are enough.
_THERE_ALREADY = (
    "com.fasterxml.jackson.core:*",
    "com.fasterxml.jackson.datatype:*",
    "com.github.luben:*",
    "com.google.code.findbugs:*",
    "commons-logging:*",
    "commons-pool:*",
    "io.airlift:*",
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "org.apache.logging.log4j:*",
    "org.apache.parquet:*",
    "org.locationtech.jts:*",
    "org.roaringbitmap:*",
    "org.slf4j:*",
    "org.wildfly.openssl:*",
    "org.xerial.snappy:*",
    "software.amazon.awssdk:bundle",
)
_AWS = "2.35.4"
"""The version of AWS's library that this Hadoop was built with."""
_AWS_MODULES = ("s3", "s3-transfer-manager", "sts")
_LOOK_EVERY_S = 0.5


def delta_packages() -> list[str]:
    """The coordinates of the Delta that fits this PySpark, for `spark.jars.packages`."""
    spark = ".".join(pyspark.__version__.split(".")[:2])
    delta = importlib.metadata.version("delta-spark")
    return [f"io.delta:delta-spark_{spark}_2.13:{delta}"]


def s3_packages() -> list[str]:
    """The coordinates of the file system for `s3a://` that fits this PySpark's Hadoop."""
    jars = Path(pyspark.__file__).parent / "jars"
    found = next(
        (one.stem for one in jars.glob("hadoop-client-api-*.jar")), "hadoop-client-api-3.5.0"
    )
    hadoop = found.removeprefix("hadoop-client-api-")
    modules = [f"software.amazon.awssdk:{name}:{_AWS}" for name in _AWS_MODULES]
    return [f"org.apache.hadoop:hadoop-aws:{hadoop}", *modules]


def package_conf(given: Mapping[str, str], *, s3: bool) -> dict[str, str]:
    """Spark's settings for what it fetches; a user's own packages come along."""
    ours = [*delta_packages(), *(s3_packages() if s3 else [])]
    return {
        _PACKAGES: ",".join(filter(None, [*ours, given.get(_PACKAGES, "")])),
        _EXCLUDES: ",".join(filter(None, [*_THERE_ALREADY, given.get(_EXCLUDES, "")])),
    }


@contextmanager
def fetching(conf: Mapping[str, str], tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Around Spark's start: one process at a time fetches what is not there yet.

    `tell` hears how far it is. Nothing happens where all is there.
    """
    folder = Path(conf.get(_IVY) or Path.home() / ".ivy2.5.2")
    if _has_all(folder, conf[_PACKAGES]):
        yield
        return
    with _one_at_a_time():
        by_another = _has_all(folder, conf[_PACKAGES])
        with _watched(folder, None if by_another else tell):
            yield


def _has_all(folder: Path, packages: str) -> bool:
    names = [coordinates.split(":") for coordinates in packages.split(",")]
    jars = [folder / "jars" / f"{group}_{name}-{version}.jar" for group, name, version in names]
    return all(jar.exists() for jar in jars)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    path = Path(tempfile.gettempdir()) / f"zonal-packages-{os.getuid()}.lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _watched(folder: Path, tell: Callable[[str], None] | None) -> Iterator[None]:
    if tell is None:
        yield
        return
    before, done = _size(folder), threading.Event()

    def watch() -> None:
        seen = before
        while not done.wait(_LOOK_EVERY_S):
            size = _size(folder)
            if size != seen:
                tell(f"fetching Spark's packages: {(size - before) / 1e6:.1f} MB so far")
                seen = size

    tell("fetching Spark's packages (once, about 13 MB, with S3 31)")
    watcher = threading.Thread(target=watch, name="zonal-packages", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _size(folder: Path) -> int:
    total = 0
    for path in (folder / "cache").rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # a part that was just renamed
            continue
    return total

"""`zonal pipeline submit`: the jobs on a cluster, by spark-submit with all that they need."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

import zonal

_MAIN = "from zonal.cli import app\n\napp()\n"


def submit(
    arguments: Annotated[
        list[str],
        typer.Argument(help="What to run there, after --: such as run s3://b/log s3://b/lake."),
    ],
    master: Annotated[
        str | None, typer.Option(help="Spark's master; else its own default.")
    ] = None,
    environment: Annotated[
        Path | None,
        typer.Option(help="A packed Python environment (tar.gz), for nodes that have none."),
    ] = None,
    conf: Annotated[list[str] | None, typer.Option(help="A setting as name=value.")] = None,
    show: Annotated[bool, typer.Option(help="Print the command instead of running it.")] = False,
) -> None:
    """Run a command of `zonal pipeline` on a cluster."""
    with tempfile.TemporaryDirectory(prefix="zonal-submit-") as folder:
        command = _command(Path(folder), arguments, master, environment, conf or [])
        if show:
            typer.echo(shlex.join(command))
            return
        done = subprocess.run(command, check=False)  # noqa: S603 - spark-submit, by its full path
    raise typer.Exit(done.returncode)


def _command(
    folder: Path,
    arguments: list[str],
    master: str | None,
    environment: Path | None,
    conf: list[str],
) -> list[str]:
    from zonal.pipeline.jobs import package_conf

    settings = package_conf({}, s3=any(one.startswith("s3") for one in arguments))
    settings |= dict(one.split("=", 1) for one in conf)
    archives = []
    if environment is not None:
        archives = ["--archives", f"{environment.absolute()}#environment"]
        settings["spark.pyspark.python"] = "./environment/bin/python"
        if settings.get("spark.submit.deployMode", "client") == "client":
            settings["spark.pyspark.driver.python"] = sys.executable  # where nothing is unpacked
    main = folder / "main.py"
    main.write_text(_MAIN)
    return [
        _spark_submit(),
        *(["--master", master] if master else []),
        *(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")),
        *archives,
        "--py-files",
        _packed(folder),
        str(main),
        "pipeline",
        *arguments,
    ]


def _spark_submit() -> str:
    import pyspark

    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    return str(Path(home) / "bin" / "spark-submit")


def _packed(folder: Path) -> str:
    """The package as an archive, for executors to import from."""
    package = Path(zonal.__file__).parent
    copy = folder / "package" / "zonal"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return shutil.make_archive(str(folder / "zonal"), "zip", copy.parent, "zonal")

"""`zonal doctor`: what is missing on this machine, and what to do about it."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import socket
import subprocess
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import zonal
from zonal.cli.certificates import certificate_facts
from zonal.cli.connection import connected
from zonal.cli.options import LOCAL_ROUTER, Connect, JsonLines
from zonal.errors import ZonalError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PORTS = {7447: "zonal router", 1883: "zonal broker", 8000: "zonal serve"}
_EXTRAS = ("broker", "trust", "web", "pipeline", "sql", "feeds")
_PATIENCE_MS = 2_000
_COLOURS = {"ok": typer.colors.GREEN, "note": typer.colors.YELLOW, "fail": typer.colors.RED}


class Finding(NamedTuple):
    """What was looked at, how it is, and what to do."""

    what: str
    state: str
    """`ok`; `note`, which need not be mended; `fail`."""
    said: str
    remedy: str = ""


def doctor(
    context: typer.Context,
    connect: Connect = LOCAL_ROUTER,
    certificate: Annotated[
        Path | None, typer.Option(help="TLS certificate (PEM) to look at, with its --key.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="Its private key (PEM).")] = None,
    json_lines: JsonLines = False,
) -> None:
    """Look at Python, packages, Java, ports, routers and certificates; say what to do.

    Ends with status 1 where something fails.
    """
    source = context.get_parameter_source("connect")
    is_asked = source is not None and source.name != "DEFAULT"
    failed = False
    for finding in _findings(connect, certificate, key, is_asked=is_asked):
        failed |= finding.state == "fail"
        if json_lines:
            typer.echo(json.dumps(finding._asdict(), ensure_ascii=False))
            continue
        state = typer.style(f"{finding.state:4}", fg=_COLOURS[finding.state])
        remedy = f"\n      → {finding.remedy}" if finding.remedy else ""
        typer.echo(f"{state}  {finding.what}: {finding.said}{remedy}")
    raise typer.Exit(int(failed))


def _findings(
    connect: list[str], certificate: Path | None, key: Path | None, *, is_asked: bool
) -> Iterator[Finding]:
    said = f"{zonal.__version__} on Python {platform.python_version()}, {platform.platform()}"
    yield Finding("zonal", "ok", said)
    yield from map(_extra, _EXTRAS)
    yield _java()
    for port, command in _PORTS.items():
        yield _port(port, command)
    for endpoint in connect:
        yield _router(endpoint, is_asked=is_asked)
    if certificate is not None or key is not None:
        yield from _certificate(certificate, key)


def _extra(name: str) -> Finding:
    missing = [package for package in _packages_of(name) if not _is_installed(package)]
    if not missing:
        return Finding(f"extra {name}", "ok", "installed")
    install = f"pip install 'zonal[{name}]'"
    return Finding(f"extra {name}", "note", f"without {', '.join(missing)}", install)


def _packages_of(extra: str) -> list[str]:
    """The distributions of an extra, as our own metadata names them."""
    found = []
    for line in requires("zonal") or ():
        needed, _, condition = line.partition(";")
        if f"extra == '{extra}'" in condition.replace('"', "'"):
            found.append(re.split(r"[\s\[<>=!~(]", needed.strip(), maxsplit=1)[0])
    return found


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _java() -> Finding:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    try:
        run = subprocess.run(  # noqa: S603 - what the PATH or JAVA_HOME says
            [found or "java", "-version"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        remedy = "install Java 17 or newer, such as apt install openjdk-17-jre-headless"
        return Finding("Java", "note", "not there; only the Spark jobs need it", remedy)
    first = run.stderr.partition("\n")[0]
    number = re.search(r'"(\d+)', first)
    if number is None or int(number[1]) < 17:
        return Finding("Java", "note", f"{first}; Spark needs 17", "install Java 17 or newer")
    return Finding("Java", "ok", first)


def _port(number: int, command: str) -> Finding:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", number))
        except OSError as error:
            said = f"taken ({error.strerror}); where {command} would listen"
            return Finding(
                f"port {number}", "note", said, "fine if it is that; else choose another"
            )
    return Finding(f"port {number}", "ok", f"free for {command}")


def _router(endpoint: str, *, is_asked: bool) -> Finding:
    """How a router is; one that nobody named need not be there."""
    patience = {"connect/timeout_ms": _PATIENCE_MS}
    try:
        with connected([endpoint], "client", settings=patience) as session:
            replies = list(session.get("@/*/router", timeout=_PATIENCE_MS / 1000))
    except ZonalError as error:
        if is_asked:
            remedy = "zonal router, or another --connect"
            return Finding(f"router {endpoint}", "fail", str(error), remedy)
        return Finding(f"router {endpoint}", "note", "none is running here", "zonal router")
    versions = ", ".join(str(json.loads(reply.payload.to_bytes())["version"]) for reply in replies)
    told = f"Zenoh {versions}" if versions else "connected; its admin space does not answer"
    return Finding(f"router {endpoint}", "ok", told)


def _certificate(certificate: Path | None, key: Path | None) -> Iterator[Finding]:
    if certificate is None or key is None:
        yield Finding("certificate", "fail", "needs both --certificate and --key")
        return
    try:
        facts = certificate_facts(certificate, key)
    except ZonalError as error:
        yield Finding(f"certificate {certificate}", "fail", str(error), "make or fetch a new one")
        return
    said = f"for {', '.join(facts.names) or 'no name'}, until {facts.until:%Y-%m-%d}"
    if facts.days_left < 30:
        yield Finding(f"certificate {certificate}", "note", said, f"{facts.days_left} days left")
    else:
        yield Finding(f"certificate {certificate}", "ok", said)

"""`zonal keys`: the keys of zones, for those who are inside."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import typer

from zonal.cli.connection import connected
from zonal.cli.key_files import (
    read_attester,
    read_bytes,
    read_issuers,
    read_zone,
    secret_text,
    write_private,
)
from zonal.cli.notation import parse_area
from zonal.cli.options import LOCAL_ROUTER, Connect, Mode
from zonal.cli.stopping import stop_event
from zonal.errors import TrustError
from zonal.session import KeyService
from zonal.trust import Zone, new_secret

app = typer.Typer(help="Keys of zones, for those who are inside.", no_args_is_help=True)


@app.command("secret")
def secret(
    path: Annotated[Path, typer.Argument(help="Where the secret of the zone goes.")],
    epoch: Annotated[int, typer.Option(min=1, help="Seconds after which the key changes.")] = 60,
) -> None:
    """Make a new secret of a zone: whoever has it has all its keys."""
    write_private(path, secret_text(new_secret(), epoch))
    typer.echo(f"{path} is for the key service, and for whom you trust with the whole zone")


@app.command("serve")
def serve(
    zones: Annotated[
        Path,
        typer.Argument(
            exists=True, dir_okay=False, help="TOML: by zone its area and the file of its secret."
        ),
    ],
    key: Annotated[
        Path,
        typer.Option("--key", "-k", exists=True, dir_okay=False, help="What signs (PEM)."),
    ],
    issuers: Annotated[
        Path,
        typer.Option(
            exists=True, dir_okay=False, help="Public keys (PEM) of attesters whose word counts."
        ),
    ],
    connect: Connect = LOCAL_ROUTER,
    mode: Mode = "client",
) -> None:
    """Give the keys of zones to those who are attested to be inside, until Ctrl-C."""
    signer, served = read_attester(key), read_zones(zones)
    stop = stop_event()
    with connected(connect, mode) as session:  # noqa: SIM117 - it closes last
        with KeyService(session, signer, served, read_issuers(issuers)) as service:
            typer.echo(f"keys of {', '.join(zone.name for zone in served)} are served", err=True)
            stop.wait()
            typer.echo(f"{service.answered} answered, {service.refused} refused", err=True)


def read_zones(path: Path) -> list[Zone]:
    """The zones of a file such as `[duomo]`, `area = "circle:…"`, `secret = "duomo.secret"`."""
    try:
        tables = tomllib.loads(read_bytes(path).decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TrustError(f"{path} is no TOML: {error}") from error
    found = []
    for name, table in tables.items():
        if not isinstance(table, dict) or table.keys() != {"area", "secret"}:
            raise TrustError(f"{path}: [{name}] has an area and a secret, and nothing else")
        area = parse_area(str(table["area"]))
        found.append(read_zone(name, path.parent / str(table["secret"]), area))
    if not found:
        raise TrustError(f"{path} names no zone")
    return found

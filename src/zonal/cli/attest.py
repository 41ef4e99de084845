"""`zonal attest`: positions that somebody vouches for."""

from __future__ import annotations

import json
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zonal.cli.connection import connected
from zonal.cli.key_files import read_attester, read_issuers, write_private
from zonal.cli.notation import given, parse_area, parse_point
from zonal.cli.options import LOCAL_ROUTER, Connect, JsonLines, Mode
from zonal.cli.stopping import stop_event
from zonal.errors import AttestationError
from zonal.session import AttestationService
from zonal.trust import (
    NO_HOLDER,
    AttestationRequest,
    Attester,
    new_private_pem,
    read_token,
    token_from_text,
    token_to_text,
)

if TYPE_CHECKING:
    from zonal.geo import Point

app = typer.Typer(help="Vouch for positions, so that fences can demand them.", no_args_is_help=True)

_LOCATING_S = 5.0

KeyFile = Annotated[
    Path, typer.Option("--key", "-k", exists=True, dir_okay=False, help="The private key (PEM).")
]
Lifetime = Annotated[
    int, typer.Option(min=1, max=65_535, help="For how many seconds a token holds.")
]


@app.command("key")
def key(
    path: Annotated[Path, typer.Argument(help="Where the private key goes; beside it .pub.")],
) -> None:
    """Make a new key of an attester or a key service."""
    pem = new_private_pem()
    write_private(path, pem)
    public = path.with_name(path.name + ".pub")
    public.write_bytes(Attester(pem).public_pem)
    typer.echo(f"{path} is private; {public} is for those who shall trust it")


@app.command("issue")
def issue(
    subject: Annotated[str, typer.Argument(help="Who: a session's id, a user or client.")],
    place: Annotated[str, typer.Argument(help="Where: lat,lon in degrees.")],
    key: KeyFile,
    lifetime: Lifetime = 60,
    holder: Annotated[
        str | None, typer.Option(help="The subject's X25519 public key in hexadecimal.")
    ] = None,
) -> None:
    """Print a token: the subject is at this place, now."""
    public = NO_HOLDER if holder is None else bytes.fromhex(holder)
    token = read_attester(key).attest(
        subject, parse_point(place), now=time.time(), lifetime_s=lifetime, holder=public
    )
    typer.echo(token_to_text(token))


@app.command("show")
def show(
    token: Annotated[str, typer.Argument(help="A token as `zonal attest issue` prints it.")],
    issuers: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Public keys (PEM) to verify it with."),
    ] = None,
    subject: Annotated[str | None, typer.Option(help="Whose it must be.")] = None,
    area: Annotated[str | None, typer.Option(help="Where it must be.")] = None,
    json_lines: JsonLines = False,
) -> None:
    """Print what a token says; with --issuers only if it holds."""
    data = token_from_text(token)
    if issuers is None:
        found, _ = read_token(data)
    else:
        found = read_issuers(issuers).verify(
            data, now=time.time(), subject=subject, area=given(area, parse_area)
        )
    said = {
        "subject": found.subject,
        "cell": found.cell.token,
        "near": [round(found.cell.center.lat, 6), round(found.cell.center.lon, 6)],
        "issued": _time(found.issued),
        "expires": _time(found.expires),
        "issuer": f"{found.issuer:016x}",
        "verified": issuers is not None,
    }
    if json_lines:
        typer.echo(json.dumps(said))
    else:
        for name, value in said.items():
            typer.echo(f"{name:9} {value}")


@app.command("serve")
def serve(
    key: KeyFile,
    locator: Annotated[
        str,
        typer.Option(
            help="A program of your own that says where somebody is: it gets subject, holder and "
            "evidence as JSON, and prints lat,lon, or nothing."
        ),
    ],
    name: Annotated[str, typer.Option(help="By which sessions ask.")] = "attester",
    lifetime: Lifetime = 60,
    connect: Connect = LOCAL_ROUTER,
    mode: Mode = "client",
) -> None:
    """Answer sessions that ask to be attested, by your own locating system, until Ctrl-C."""
    attester = read_attester(key)
    stop = stop_event()

    def locate(request: AttestationRequest) -> Point | None:
        return located(locator, request)

    with connected(connect, mode) as session:  # noqa: SIM117 - it closes last
        with AttestationService(session, attester, locate, name=name, lifetime_s=lifetime) as one:
            typer.echo(f"attester {name} {attester.id:016x} answers", err=True)
            stop.wait()
            typer.echo(f"{one.answered} attested, {one.refused} refused", err=True)


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def located(locator: str, request: AttestationRequest) -> Point | None:
    """Where a program of the operator's says that somebody is."""
    asked = {
        "subject": request.subject,
        "holder": request.holder.hex(),
        "evidence": request.evidence.decode(errors="replace"),
    }
    try:
        done = subprocess.run(  # noqa: S603 - the operator's own program
            [locator], input=json.dumps(asked), capture_output=True, text=True,
            timeout=_LOCATING_S, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise AttestationError(f"the locator {locator} failed: {error}") from error
    text = done.stdout.strip()
    return parse_point(text) if text else None

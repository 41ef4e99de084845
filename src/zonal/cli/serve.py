"""`zonal serve`: REST, live events and the map."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zonal.cli.connection import connected
from zonal.cli.notation import given, parse_point
from zonal.cli.options import LOCAL_ROUTER, Insecure, JsonLines
from zonal.cli.shared import shared
from zonal.errors import GeometryError
from zonal.runtime import Reloads
from zonal.session import Router
from zonal.trust import read_rules

if TYPE_CHECKING:
    from zonal.geo import Point
    from zonal.session import Session
    from zonal.trust import Rules
    from zonal.web import WebGrant


def serve(
    connect: Annotated[
        list[str] | None,
        typer.Option(
            "--connect", "-e", help="Router to connect to; repeatable. Without any, one starts."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8000,
    topic: Annotated[
        list[str] | None, typer.Option(help="Key to show live on the map; repeatable.")
    ] = None,
    center: Annotated[
        str | None,
        typer.Option(help="Latitude,longitude of the map's middle; else where things are."),
    ] = None,
    zoom: Annotated[int, typer.Option(help="0 (the world) to 18.")] = 2,
    value: Annotated[str, typer.Option(help="The member of JSON payloads to colour by.")] = "",
    layer: Annotated[
        list[Path] | None, typer.Option(help="GeoJSON file to show; repeatable.")
    ] = None,
    tiles: Annotated[
        str, typer.Option(help="Map tiles: an address, or a PMTiles file; none: works offline.")
    ] = "",
    token_file: Annotated[
        Path | None, typer.Option(help="Tokens and what they grant, from `zonal token`.")
    ] = None,
    rules: Annotated[
        Path | None, typer.Option(help="What users, whom tokens name, may do and where (TOML).")
    ] = None,
    read_only: Annotated[bool, typer.Option(help="Nobody may write.")] = False,
    cors: Annotated[
        list[str] | None, typer.Option(help="Origin whose pages may use it; repeatable.")
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="Further host name that it is reached by; repeatable.")
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address of a proxy, whose X-Forwarded-For is believed; repeatable."),
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="TLS certificate (PEM).")] = None,
    key: Annotated[Path | None, typer.Option(help="Its private key (PEM).")] = None,
    history: Annotated[bool, typer.Option(help="Someone answers about the past.")] = False,
    meter: Annotated[
        bool, typer.Option(help="Count all messages of the topics, to show what was spared.")
    ] = False,
    insecure: Insecure = False,
    json_lines: JsonLines = False,
) -> None:
    """Serve REST, live events and the map, until Ctrl-C."""
    from zonal.web import MapView, Meter, WebOptions, WebServer, read_tokens

    middle = _center(center or "20,0")
    view = MapView(
        topics=tuple(topic or ("**",)),
        latitude=middle.lat,
        longitude=middle.lon,
        zoom=zoom,
        fits=center is None,
        value=value,
        layers=tuple((path.stem, path) for path in layer or ()),
        tiles=tiles,
        history=history,
    )

    def who() -> tuple[tuple[WebGrant, ...], Rules | None]:
        return given(token_file, read_tokens) or (), given(rules, read_rules)

    tokens, allowed = who()
    options = WebOptions(
        host=host,
        port=port,
        tokens=tokens,
        rules=allowed,
        read_only=read_only,
        cors_origins=tuple(cors or ()),
        hosts=tuple(name or ()),
        proxies=tuple(proxy or ()),
        certificate=certificate,
        key=key,
        insecure=insecure,
        view=view,
    )
    with ExitStack() as stack:
        own: list[str] = []
        if not connect and shared().json5 is None:
            router = stack.enter_context(Router())
            connect = own = list(router.endpoints)

        def join() -> Session:
            return stack.enter_context(connected(connect or LOCAL_ROUTER, "client"))

        session = join()
        counting = None
        if meter:
            counter = join()
            counting = stack.enter_context(Meter(counter, view.topics))
        server = WebServer(session, options, counting)
        reloads = stack.enter_context(Reloads())
        reloads.on_hangup()
        rights = [path for path in (token_file, rules) if path is not None]
        rights += [] if allowed is None else map(Path, allowed.files)
        reloads.watch("tokens and rules", rights, lambda: server.use(*who()))
        own_files = [path for path in (certificate, key) if path is not None]
        reloads.watch("TLS certificate", own_files, server.read_certificate)
        _tell(server.url, own, json_lines=json_lines)
        server.run()


def _tell(url: str, endpoints: list[str], *, json_lines: bool) -> None:
    if json_lines:
        typer.echo(json.dumps({"url": url, "router": endpoints}))
        return
    if endpoints:
        typer.echo(f"router   {', '.join(endpoints)}")
    typer.echo(f"map      {url}\nREST     {url}/<key>, {url}/docs\nstop with Ctrl-C")


def _center(text: str) -> Point:
    try:
        return parse_point(text)
    except GeometryError as error:
        raise typer.BadParameter(f"--center is latitude,longitude: {error}") from error

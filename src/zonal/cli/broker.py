"""`zonal broker`: run a geo broker, and keep its password file."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated

import typer

from zonal.cli.connection import JsonLines, check_mode
from zonal.cli.notation import given

if TYPE_CHECKING:
    from zonal.broker import Options, Service

app = typer.Typer()


@app.callback(invoke_without_command=True)
def broker(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="MQTT; 0: any free port, -1: none.")] = 1883,
    tls_port: Annotated[int, typer.Option(help="MQTT over TLS; -1: none.")] = -1,
    websocket_port: Annotated[int, typer.Option(help="MQTT over WebSocket; -1: none.")] = -1,
    secure_websocket_port: Annotated[int, typer.Option(help="The same over TLS; -1: none.")] = -1,
    certificate: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="TLS certificate (PEM).")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Its private key (PEM).")
    ] = None,
    client_ca: Annotated[
        Path | None, typer.Option(exists=True, help="Verifies client certificates.")
    ] = None,
    passwords: Annotated[
        Path | None, typer.Option(exists=True, help="Users, from `zonal broker passwd`.")
    ] = None,
    rules: Annotated[
        Path | None, typer.Option(exists=True, help="What users may publish and subscribe.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Directory for what must last.")] = None,
    sync: Annotated[bool, typer.Option(help="Wait for the disk at each commit.")] = False,
    standby: Annotated[bool, typer.Option(help="Wait until the data directory is free.")] = False,
    keep_alive: Annotated[int, typer.Option(help="Longest keep-alive; 0: any.")] = 0,
    sys_interval: Annotated[float, typer.Option(help="Seconds between $SYS figures.")] = 10.0,
    connect: Annotated[
        list[str] | None,
        typer.Option("--connect", "-e", help="Endpoint to join other brokers by; repeatable."),
    ] = None,
    listen: Annotated[
        list[str] | None,
        typer.Option("--listen", "-l", help="Endpoint for others to join by; repeatable."),
    ] = None,
    federate: Annotated[bool, typer.Option(help="Join other brokers by scouting.")] = False,
    zenoh_mode: Annotated[
        str | None,
        typer.Option(help="How to take part: client (of routers), peer or router."),
    ] = None,
    geo: Annotated[bool, typer.Option(help="Read places from user properties.")] = True,
    json_lines: JsonLines = False,
) -> None:
    """Run an MQTT 5 geo broker until Ctrl-C."""
    if context.invoked_subcommand is not None:
        return
    import uvloop

    from zonal.broker import Options, Settings

    options = Options(
        host=host,
        port=_port(port),
        tls_port=_port(tls_port),
        websocket_port=_port(websocket_port),
        secure_websocket_port=_port(secure_websocket_port),
        certificate=certificate,
        key=key,
        client_ca=client_ca,
        passwords=passwords,
        rules=rules,
        data=data,
        synchronous="full" if sync else "normal",
        standby=standby,
        connect=tuple(connect or ()),
        listen=tuple(listen or ()),
        federate=federate,
        zenoh_mode=given(zenoh_mode, check_mode),
        settings=Settings(keep_alive=keep_alive or None, sys_interval=sys_interval, geo=geo),
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(options, json_lines=json_lines))


def _port(number: int) -> int | None:
    return None if number < 0 else number


async def _serve(options: Options, *, json_lines: bool) -> None:
    """Serve until a signal comes, also while the service waits for its data directory."""
    from zonal.broker import Service

    service = Service(options)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    starting = asyncio.create_task(_started(service))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        return
    await starting
    try:
        places = [f"{name}://{options.host}:{n}" for name, n in service.ports.items()]
        told = json.dumps({"serving": places})
        typer.echo(told if json_lines else f"zonal broker: serving {', '.join(places)}")
        failed = service.server.failed
        failed.add_done_callback(lambda _: stop.set())
        await stopping
        if failed.done():
            failed.result()
    finally:
        await service.__aexit__()


async def _started(service: Service) -> None:
    await service.__aenter__()


@app.command()
def passwd(
    file: Annotated[Path, typer.Argument(help="The password file; made where it is not there.")],
    user: Annotated[str, typer.Argument(help="The user to add or change.")],
    password: Annotated[
        str,
        typer.Option(
            prompt=True, hide_input=True, confirmation_prompt=True, help="Asked for if not given."
        ),
    ] = "",
) -> None:
    """Add a user to a password file, or change its password."""
    from zonal.broker import set_password

    set_password(file, user, password.encode())

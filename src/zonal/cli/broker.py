"""`zonal broker`: run a geo broker, and keep its password file."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from zonal.broker import Options, Service

app = typer.Typer(help="The MQTT 5 geo broker.", no_args_is_help=False)


class Mode(Enum):
    """How a broker takes part in Zenoh."""

    CLIENT = "client"
    PEER = "peer"
    ROUTER = "router"


File = Annotated[Path | None, typer.Option(exists=True, dir_okay=False)]


@app.callback(invoke_without_command=True)
def broker(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="MQTT; 0: any free port, -1: none.")] = 1883,
    tls_port: Annotated[int, typer.Option(help="MQTT over TLS; -1: none.")] = -1,
    websocket_port: Annotated[int, typer.Option(help="MQTT over WebSocket; -1: none.")] = -1,
    secure_websocket_port: Annotated[int, typer.Option(help="… over TLS; -1: none.")] = -1,
    certificate: File = None,
    key: File = None,
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
        list[str] | None, typer.Option(help="Zenoh endpoint to join other brokers by; repeatable.")
    ] = None,
    listen: Annotated[
        list[str] | None, typer.Option(help="Zenoh endpoint for others to join by; repeatable.")
    ] = None,
    federate: Annotated[bool, typer.Option(help="Join other brokers by scouting.")] = False,
    zenoh_mode: Annotated[
        Mode | None, typer.Option(help="How to join; by default client of its routers, else peer.")
    ] = None,
    geo: Annotated[bool, typer.Option(help="Read places from user properties.")] = True,
) -> None:
    """Run a broker until it is interrupted (SIGINT, SIGTERM)."""
    if context.invoked_subcommand is not None:
        return
    from zonal.broker import Options, Settings
    from zonal.errors import ZonalError

    try:
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
            zenoh_mode=zenoh_mode.value if zenoh_mode else None,
            settings=Settings(keep_alive=keep_alive or None, sys_interval=sys_interval, geo=geo),
        )
        _run(options)
    except ZonalError as error:
        typer.echo(f"zonal broker: {error}", err=True)
        raise typer.Exit(1) from error


def _port(number: int) -> int | None:
    return None if number < 0 else number


def _run(options: Options) -> None:
    """Serves until a signal."""
    import asyncio

    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(options))


async def _serve(options: Options) -> None:
    import asyncio
    import signal

    from zonal.broker import Service

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    starting = asyncio.create_task(_started(Service(options)))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        return
    service = await starting
    try:
        places = ", ".join(f"{name}://{options.host}:{n}" for name, n in service.ports.items())
        typer.echo(f"zonal broker: serving {places}")
        failed = service.server.failed
        failed.add_done_callback(lambda _: stop.set())
        await stopping
        if failed.done():
            failed.result()
    finally:
        await service.__aexit__()


async def _started(service: Service) -> Service:
    return await service.__aenter__()


@app.command()
def passwd(
    file: Annotated[Path, typer.Argument(help="The password file; made where it is not there.")],
    user: Annotated[str, typer.Argument(help="The user to add or change.")],
    password: Annotated[
        str, typer.Option(prompt=True, hide_input=True, confirmation_prompt=True)
    ] = "",
) -> None:
    """Add a user to a password file, or change its password."""
    from zonal.broker import set_password
    from zonal.errors import ZonalError

    try:
        set_password(file, user, password.encode())
    except ZonalError as error:
        typer.echo(f"zonal broker passwd: {error}", err=True)
        raise typer.Exit(1) from error

"""`zonal broker`: run a geo broker, and keep its password file."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zonal.cli.connection import metrics_door
from zonal.cli.notation import given
from zonal.cli.options import Insecure, JsonLines, Metrics, MetricsToken
from zonal.cli.shared import shared
from zonal.errors import CommandError
from zonal.runtime import collect_seldom
from zonal.session import check_mode

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
    zones: Annotated[
        Path | None, typer.Option(exists=True, help="Named areas for topics (GeoJSON).")
    ] = None,
    locations: Annotated[
        Path | None, typer.Option(exists=True, help="How payloads say places (TOML).")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="Directory for what must last, or postgresql://… shared with others."),
    ] = None,
    sync: Annotated[bool, typer.Option(help="Wait for the disk at each commit.")] = False,
    standby: Annotated[bool, typer.Option(help="Wait until the data directory is free.")] = False,
    keep_alive: Annotated[int, typer.Option(help="Longest keep-alive; 0: any.")] = 0,
    sys_interval: Annotated[float, typer.Option(help="Seconds between $SYS figures.")] = 10.0,
    busy_poll_us: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=10_000.0,
            help="Microseconds to look for more bytes at most before sleeping, while some come as "
            "it looks. 0: none.",
        ),
    ] = 200.0,
    connect: Annotated[
        list[str] | None,
        typer.Option("--connect", "-e", help="Endpoint to join other brokers by; repeatable."),
    ] = None,
    listen: Annotated[
        list[str] | None,
        typer.Option("--listen", "-l", help="Endpoint for others to join by; repeatable."),
    ] = None,
    federate: Annotated[bool, typer.Option(help="Join other brokers by scouting.")] = False,
    federation_secret: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="File with a secret of all brokers."),
    ] = None,
    issuers: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Public keys (PEM) of those whose attested positions count.",
        ),
    ] = None,
    zenoh_mode: Annotated[
        str | None,
        typer.Option(help="How to take part: client (of routers), peer or router."),
    ] = None,
    encoding: Annotated[
        list[str] | None,
        typer.Option(help="A Bloom domain to hear, too: bloom:45.3,9.0,45.6,9.3,20x20,0.25."),
    ] = None,
    listener: Annotated[
        list[str] | None,
        typer.Option(
            help="One more listener, as in mqtts://0.0.0.0:8883, perhaps with its own "
            "?passwords=FILE&rules=FILE&limit=NAME=VALUE; repeatable."
        ),
    ] = None,
    metrics: Metrics = None,
    metrics_token: MetricsToken = None,
    control: Annotated[
        Path | None, typer.Option(help="Folder for the control socket, for status and kick.")
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(help="A limit, as in maximum_packet_size=1MiB; repeatable."),
    ] = None,
    drop_oldest: Annotated[
        bool, typer.Option(help="A full queue loses its oldest message, not the new one.")
    ] = False,
    queue_qos_0: Annotated[
        bool, typer.Option("--queue-qos-0", help="QoS 0 waits for absent clients, too.")
    ] = False,
    session_expiry: Annotated[
        int, typer.Option(help="Longest session expiry interval in seconds; 0: any.")
    ] = 0,
    websocket_origin: Annotated[
        list[str] | None,
        typer.Option(help="Web site whose pages may connect, as in https://a.org; repeatable."),
    ] = None,
    geo: Annotated[
        bool, typer.Option(help="Read places from properties, topics and payloads.")
    ] = True,
    strict: Annotated[
        bool, typer.Option(help="Refuse a location that is none, instead of passing it on.")
    ] = False,
    insecure: Insecure = False,
    json_lines: JsonLines = False,
) -> None:
    """Run an MQTT 5 geo broker until Ctrl-C."""
    if context.invoked_subcommand is not None:
        return
    import uvloop

    from zonal.broker import NEVER, Options, Settings, control_folder, read_limits

    in_database = data is not None and data.startswith(("postgresql://", "postgres://"))
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
        zones=zones,
        locations=locations,
        data=None if data is None or in_database else Path(data),
        database=data if in_database else None,
        synchronous="full" if sync else "normal",
        standby=standby,
        connect=tuple(connect or ()),
        listen=tuple(listen or ()),
        federate=federate,
        federation_secret=federation_secret,
        issuers=issuers,
        zenoh_mode=given(zenoh_mode, check_mode),
        encodings=tuple(encoding or ()),
        listeners=tuple(listener or ()),
        metrics=metrics_door(metrics, metrics_token, insecure=insecure),
        control=control or control_folder(),
        websocket_origins=tuple(websocket_origin or ()),
        scouting=shared().scouting,
        security=shared().security,
        json5=shared().json5,
        insecure=insecure,
        settings=Settings(
            limits=read_limits(limit or ()),
            keep_alive=keep_alive or None,
            session_expiry=session_expiry or NEVER,
            drop_oldest=drop_oldest,
            queue_qos_0=queue_qos_0,
            sys_interval=sys_interval,
            busy_poll_us=busy_poll_us,
            geo=geo,
            strict=strict,
        ),
    )
    collect_seldom()
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
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, service.reloads.ask)
    starting = asyncio.create_task(_started(service))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        return
    await starting
    try:
        places = [
            name if "://" in name else f"{name}://{options.host}:{port}"
            for name, port in service.ports.items()
        ]
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
    scram: Annotated[
        bool, typer.Option(help="Keep what SCRAM-SHA-256 needs, so that it is never sent.")
    ] = False,
) -> None:
    """Add a user to a password file, or change its password."""
    from zonal.broker import set_password

    set_password(file, user, password.encode(), scram=scram)


CONTROL = typer.Option(help="The broker's control socket, or the folder it is in.")


@app.command()
def status(control: Annotated[Path | None, CONTROL] = None, json_lines: JsonLines = False) -> None:
    """Show a running broker's clients, places, queues and drops."""
    from zonal.broker import ask_broker, control_folder
    from zonal.cli.broker_status import show

    answer = ask_broker({"do": "status"}, control or control_folder())
    if json_lines:
        typer.echo(json.dumps(answer))
    else:
        show(answer)


@app.command()
def kick(
    client: Annotated[str, typer.Argument(help="The client identifier.")],
    control: Annotated[Path | None, CONTROL] = None,
) -> None:
    """Disconnect a client of a running broker, and end its session."""
    from zonal.broker import ask_broker, control_folder

    answer = ask_broker({"do": "kick", "client": client}, control or control_folder())
    if not answer.get("kicked"):
        raise CommandError(f"no client {client!r} is there")
    typer.echo(f"{client} is disconnected")


@app.command()
def bridge(
    here: Annotated[str, typer.Argument(help="This broker, as in mqtt://127.0.0.1:1883.")],
    there: Annotated[str, typer.Argument(help="The other, as in mqtts://user:pass@host:8883.")],
    topic: Annotated[
        list[str],
        typer.Option(help="What is carried, as in 'sensors/# in 1 here/ there/'; repeatable."),
    ],
    place: Annotated[
        list[str] | None,
        typer.Option(help="A place for messages that say none, filter=lat,lon; repeatable."),
    ] = None,
    name: Annotated[str, typer.Option(help="The client identifier at both.")] = "zonal-bridge",
) -> None:
    """Carry messages between two MQTT 5 brokers until Ctrl-C."""
    from zonal.broker import Bridge, Carried, Placed

    carrying = Bridge(
        here, there, [Carried.read(each) for each in topic],
        [Placed.read(each) for each in place or ()], name,
    )  # fmt: skip
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(carrying.run())

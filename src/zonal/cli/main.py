"""`zonal`: the command line, put together from one module per group of commands."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from zonal.errors import ZonalError

if TYPE_CHECKING:
    from collections.abc import Callable

# Where each command lives: module, attribute, and the help line that `zonal --help` shows. The
# modules are imported when their command is used, so that nobody waits for Spark to say hello.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "router": ("zonal.cli.router", "router", "Run a stock Zenoh router."),
    "pub": ("zonal.cli.pub", "pub", "Publish messages from a place."),
    "sub": ("zonal.cli.sub", "sub", "Subscribe to a topic in an area."),
    "get": ("zonal.cli.get", "get", "Query a topic in an area."),
    "encode": ("zonal.cli.encode", "encode", "Show the location keys of a point or an area."),
    "serve": ("zonal.cli.serve", "serve", "REST, live events and the map."),
    "broker": ("zonal.cli.broker", "app", "The MQTT 5 geo broker."),
    "record": ("zonal.cli.record", "record", "Record messages into a durable log."),
    "pipeline": ("zonal.cli.pipeline", "app", "Spark jobs: lake, aggregates, alerts, …."),
    "history": ("zonal.cli.history", "history", "What was said here, and when."),
    "mesh": ("zonal.cli.mesh", "app", "Publish/subscribe where there are no routers."),
    "lab": ("zonal.cli.lab", "app", "Emulate networks and run experiments on them."),
    "demo": ("zonal.cli.demo", "demo", "A city on a map: sensors, cars, phones, a cloud."),
}


class _Commands(TyperGroup):
    """The commands by name, loaded on first use."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """All names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command itself, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, help_line = COMMANDS[cmd_name]
        return _command(getattr(importlib.import_module(module), attribute), cmd_name, help_line)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of commands, without importing any of them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[2]) for name, entry in COMMANDS.items()])


def _command(target: Callable[..., Any] | typer.Typer, name: str, help_line: str) -> Any:
    """A function becomes a command; a `Typer` with several becomes a group."""
    if not isinstance(target, typer.Typer):
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name=name, help=target.__doc__ or help_line)(target)
        target = single
    command = typer.main.get_command(target)
    command.name = name
    return command


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Location-aware publish/subscribe, query and history on stock Eclipse Zenoh.",
)


def _show_version(value: bool) -> None:
    if value:
        import zonal

        typer.echo(f"zonal {zonal.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Nothing to do before a command."""
    del version


def main() -> None:
    """Run the command line; errors of ours become one clear line."""
    try:
        app()
    except ZonalError as error:
        Console(stderr=True).print(f"zonal: {error}", style="red", markup=False, highlight=False)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()

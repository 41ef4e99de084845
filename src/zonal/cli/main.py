"""`zonal`: the command line, put together from one module per group of commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from zonal.cli.commands import COMMANDS, added_commands, missing_command
from zonal.errors import ZonalError

if TYPE_CHECKING:
    from zonal.cli.commands import Command


class _Commands(TyperGroup):
    """The commands by name, loaded on first use."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """All names: our own in the order of the table, then those that others added."""
        return list(_known())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command itself, imported now."""
        command = _known().get(cmd_name) or missing_command(cmd_name)
        return None if command is None else _loaded(command)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of commands, without importing any of ours."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(command.name, command.help) for command in _known().values()])


def _known() -> dict[str, Command]:
    return {command.name: command for command in (*COMMANDS, *added_commands())}


def _loaded(command: Command) -> Any:
    """A function becomes a command; a `Typer` with several becomes a group."""
    target = command.load()
    if not isinstance(target, typer.Typer):
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name=command.name, help=target.__doc__ or command.help)(target)
        target = single
    loaded = typer.main.get_command(target)
    loaded.name = command.name
    return loaded


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

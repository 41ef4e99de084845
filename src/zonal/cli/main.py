"""`zonal`: the root of the command line, which puts commands and their errors in one style."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperGroup

import zonal
from zonal.cli.commands import command_names, load_command, missing_extra
from zonal.cli.completion import prepare_completion
from zonal.cli.examples import epilog_of
from zonal.cli.shared import add_shared, begin_command
from zonal.errors import CommandError, PositionError, ZonalError

_NO_POSITION = "a position is needed: say where we are with --position, or name the place itself"


class _Commands(TyperGroup):
    """The commands by name, loaded on first use; errors of ours become one clear line."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command; exit status 1 where it fails with a `ZonalError`."""
        prepare_completion()
        begin_command()
        try:
            return super().main(*args, **options)
        except ZonalError as error:
            said = _NO_POSITION if isinstance(error, PositionError) else error
            typer.secho(f"zonal: {said}", fg=typer.colors.RED, err=True)
            sys.exit(1)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; one whose packages are not installed says which extra has them."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            if missing := missing_extra(ctx.invoked_subcommand, error):
                raise missing from error
            raise

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """All names, in the order of the help."""
        return command_names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command itself, imported now: a function's, or the group of a `Typer`."""
        target = load_command(cmd_name)
        if target is None:
            return None
        holder = typer.Typer(rich_markup_mode=None)
        if isinstance(target, typer.Typer):
            holder.add_typer(target, name=cmd_name)
        else:
            holder.command(cmd_name)(target)
        return _styled(typer.main.get_group(holder).commands[cmd_name], cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Each command with the first line of its own help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._summary(ctx, name)) for name in command_names()])

    def _summary(self, ctx: Any, name: str) -> str:
        try:
            text: str = self.get_command(ctx, name).help or ""
        except CommandError as error:
            return f"({error})"
        return text.partition("\n")[0]


def _styled(command: Any, words: str) -> Any:
    """A command and those below it in our style: plain text, shared options, and examples."""
    add_shared(command, words)
    command.rich_markup_mode = None
    command.epilog = epilog_of(words) or command.epilog
    for name, inner in getattr(command, "commands", {}).items():
        _styled(inner, f"{words} {name}")
    return command


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},  # commands inherit it
    help="Location-aware publish/subscribe, query and history on stock Eclipse Zenoh.",
)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"zonal {zonal.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    del version  # shown already

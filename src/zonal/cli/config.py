"""`zonal config`: what is wrong with a configuration file, and what is in force."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import zonal
from zonal.cli.options import JsonLines
from zonal.cli.sections import SectionReader, keys_of, known_sections, wrong_sections
from zonal.cli.shared import shared
from zonal.errors import CommandError, ConfigurationError
from zonal.runtime import SettingsFile, without_passwords
from zonal.session import ZENOH_PATHS, Security, refuse_open_listeners

if TYPE_CHECKING:
    from collections.abc import Iterator

app = typer.Typer(help="Check the configuration file, and show it.", no_args_is_help=True)

_HIDDEN = "***"


class InForce(NamedTuple):
    """A value, and whether nobody has set it."""

    value: Any
    is_default: bool


@app.command()
def check(
    context: typer.Context,
    file: Annotated[
        str | None, typer.Argument(help="The file; else the one that commands would read.")
    ] = None,
    json_lines: JsonLines = False,
) -> None:
    """Say what is wrong with a configuration file, with line and key.

    Ends with status 1 where something is.
    """
    found = SettingsFile(file) if file is not None else shared().file
    if found is None:
        raise CommandError("there is no configuration file: give one, or set ZONAL_CONFIG")
    mistakes = set(_mistakes(context.find_root(), found))
    for section, look in (("zenoh", _check_zenoh), ("router", _check_router)):
        if not any(f"[{section}]" in each for each in mistakes):
            try:
                look(found)
            except ConfigurationError as error:
                mistakes.add(str(found.mistake((section,), str(error))))
    wrong = sorted(mistakes, key=_line)
    if json_lines:
        typer.echo(json.dumps({"file": str(found.path), "wrong": wrong}))
    elif not wrong:
        typer.echo(f"{found.path} is right: {', '.join(found.sections) or 'it says nothing'}")
    for line in () if json_lines else wrong:
        typer.secho(line, fg=typer.colors.RED, err=True)
    if wrong:
        raise typer.Exit(1)


def _check_zenoh(file: SettingsFile) -> None:
    """Raises `ConfigurationError` for parts of `[zenoh]` that do not belong together."""
    if file.section("zenoh"):
        zonal.config(file=file.path)


def _check_router(file: SettingsFile) -> None:
    """Raises `ConfigurationError` for a router that could not start so, or for anybody."""
    told = file.section("router")
    if told:
        given = {key: told[key] for key in Security.__slots__ if key in told}
        paths = {key: file.resolved(given[key]) for key in given if key in ZENOH_PATHS}
        security = Security(**(given | paths))
        made = zonal.config("router", listen=told.get("listen", ()), security=security)
        if not told.get("insecure", False):
            refuse_open_listeners(made)


def _line(mistake: str) -> int:
    found = re.search(r", line (\d+), ", mistake)
    return int(found[1]) if found else 0


def _mistakes(root: Any, file: SettingsFile) -> Iterator[str]:
    """All mistakes; one of `[zenoh]` or `[logging]` is told for each command that reads it."""
    yield from map(str, wrong_sections(root, file))
    for section in ("doctor", *file.sections):  # doctor reads what all share
        command = known_sections(root).get(section)
        if command is None:
            continue
        try:
            group = root.command.get_command(root, command)
        except ModuleNotFoundError as error:
            typer.echo(f"[{section}] is not checked: {error.name} is not installed", err=True)
            continue
        reader = SectionReader(file, section, group)
        for context in _contexts(group, command, root):
            reader.read(context, context.command)
        yield from map(str, reader.wrong)


def _contexts(command: Any, name: str, parent: Any) -> Iterator[Any]:
    """A context for a command and each below it, in which parameters can be looked at."""
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    context.resilient_parsing = False
    yield context
    for inner_name, inner in getattr(command, "commands", {}).items():
        yield from _contexts(inner, inner_name, context)


@app.command()
def show(
    context: typer.Context,
    section: Annotated[
        str | None, typer.Argument(help="One section; else all that the file has.")
    ] = None,
    json_lines: JsonLines = False,
) -> None:
    """Print what is in force, as TOML; secrets are hidden, defaults are comments."""
    root = context.find_root()
    file, known = shared().file, known_sections(root)
    wanted = [section] if section else list(file.sections if file else ())
    shown = {name: _section(root, name, known, file) for name in wanted}
    if json_lines:
        values = {name: {key: each.value for key, each in told.items()}
                  for name, told in shown.items()}  # fmt: skip
        typer.echo(json.dumps({"file": str(file.path) if file else None, **values}))
        return
    typer.echo(f"# {file.path.absolute()}" if file else "# no file: all is as it is by default")
    for name, told in shown.items():
        typer.echo(f"\n[{name}]")
        for key, (value, is_default) in told.items():
            line = f"{key} = {json.dumps(value, ensure_ascii=False)}"
            typer.echo(f"# {line}" if is_default else line)


def _section(
    root: Any, name: str, known: dict[str, str], file: SettingsFile | None
) -> dict[str, InForce]:
    """What is in force, by key: what the file says, and what is so by default."""
    if name in {"zenoh", "logging"}:
        told = file.section(name) if file is not None else {}
        return {
            key: InForce(_HIDDEN if key == "password" else value, False)
            for key, value in told.items()
        }
    if name not in known:
        raise CommandError(f"no section {name!r}; there are {', '.join(known)}")
    group = root.command.get_command(root, known[name])
    found: dict[str, InForce] = {}
    for context in _contexts(group, known[name], root):
        said: dict[str, Any] = {}
        if file is not None:
            reader = SectionReader(file, name, group)
            said = reader.read(context, context.command)
            if reader.wrong:
                raise reader.wrong[0]
        for key, param in keys_of(context.command).items():
            if param.name in said:
                found[key] = InForce(_shown(param, said[param.name]), False)
            elif key not in found and (value := _shown(param, param.default)) is not None:
                found[key] = InForce(value, True)
    return found


def _shown(param: Any, value: Any) -> Any:
    if value is None or callable(value):
        return None
    if getattr(param, "hide_input", False):
        return _HIDDEN if value else None
    if isinstance(value, list | tuple):
        return [_shown(param, each) for each in value]
    return value if isinstance(value, bool | int | float) else without_passwords(str(value))

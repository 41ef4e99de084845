"""Options that every command has, or every one that joins Zenoh: made once, added to each.

They are no parameters of the commands' functions: what they say is kept here while a command runs,
and asked for by those who need it (`shared()`).
"""

from __future__ import annotations

import inspect
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import typer

from zonal.cli.sections import defaults_of, find_file
from zonal.runtime import LOG_FORMATS, LOG_LEVELS, configure_logging

if TYPE_CHECKING:
    from zonal.runtime import SettingsFile
    from zonal.session import Security


@dataclass
class SharedOptions:
    """What the options say that all commands share."""

    file: SettingsFile | None = None
    """The configuration file in force."""
    zenoh: dict[str, Any] = field(default_factory=dict)
    log: dict[str, str] = field(default_factory=lambda: {"level": "warning"})

    @property
    def security(self) -> Security:
        """Certificates and credentials for Zenoh."""
        from zonal.session import Security  # a `--help` needs no session

        given = {name: value for name, value in self.zenoh.items() if name in Security.__slots__}
        return Security(**given)

    @property
    def listen(self) -> list[str]:
        """Where to listen by Zenoh."""
        return list(self.zenoh.get("listen", ()))

    @property
    def scouting(self) -> bool | None:
        """Whether to look for others by multicast; None: as it fits the endpoints."""
        return self.zenoh.get("scouting")

    @property
    def json5(self) -> Path | None:
        """Zenoh's own configuration file."""
        return self.zenoh.get("json5")


_CURRENT: ContextVar[SharedOptions] = ContextVar("shared options")


def shared() -> SharedOptions:
    """The options of the command that runs."""
    options = _CURRENT.get(None)
    if options is None:
        _CURRENT.set(options := SharedOptions())
    return options


def begin_command() -> None:
    """Forget what a command before this one was told, and log what is wrong, nothing else."""
    _CURRENT.set(options := SharedOptions())
    configure_logging(**options.log)


class _Told(NamedTuple):
    kind: Any
    help: str
    more: dict[str, Any] = {}  # noqa: RUF012 - never changed


_SERVICES = {"router", "broker", "bridge", "serve", "store", "record", "history", "node", "gateway"}
"""Commands that run for long, and say in the log who comes and goes."""


def _read_file(context: typer.Context, value: str | None) -> None:
    """Has the file's values stand in for what the command line does not say."""
    if context.resilient_parsing:
        return
    if context.info_name in _SERVICES:
        shared().log["level"] = "info"
        configure_logging(**shared().log)
    if value is not None or shared().file is None:
        shared().file = find_file(value)
    file = shared().file
    below = getattr(context.command, "commands", {})
    if below.keys() & getattr(context, "words", ()):
        return  # a command below it is meant, whose section this is then
    context.default_map = {} if file is None else defaults_of(context, file)


def _take_zenoh(context: typer.Context, param: typer.CallbackParam, value: Any) -> None:
    if value is not None and value != [] and not context.resilient_parsing:
        shared().zenoh[str(param.name).removeprefix("zenoh_")] = value


def _take_log(context: typer.Context, param: typer.CallbackParam, value: str | None) -> None:
    if value is not None and not context.resilient_parsing:
        shared().log[str(param.name).removeprefix("log_")] = value
        configure_logging(**shared().log)


_OF_ALL = {
    "config": _Told(
        str | None,
        "Configuration file; else ZONAL_CONFIG, else zonal.toml in this folder.",
        {"callback": _read_file, "is_eager": True, "metavar": "FILE"},
    ),
    "log_level": _Told(
        str | None,
        f"What to log: {', '.join(LOG_LEVELS)}; else info for services, warning for others.",
        {"callback": _take_log},
    ),
    "log_format": _Told(
        str | None, f"How to log: {', '.join(LOG_FORMATS)}; else text.", {"callback": _take_log}
    ),
}
_OF_ZENOH = {
    "listen": _Told(list[str] | None, "Endpoint that Zenoh listens on; repeatable."),
    "scouting": _Told(bool | None, "Look for others by multicast; else where nothing is named."),
    "ca": _Told(Path | None, "Verifies routers and others that Zenoh connects to (PEM)."),
    "certificate": _Told(Path | None, "Certificate for Zenoh over TLS (PEM)."),
    "key": _Told(Path | None, "Its private key (PEM)."),
    "client_ca": _Told(Path | None, "Those who connect by Zenoh need its certificates (PEM)."),
    "user": _Told(str | None, "User at the routers."),
    "password": _Told(
        str | None,
        "The user's password.",
        {"hidden": True, "hide_input": True, "envvar": "ZONAL_ZENOH_PASSWORD"},
    ),
    "password_file": _Told(Path | None, "File with the user's password in its first line."),
    "users": _Told(Path | None, "Those who connect by Zenoh need a line user:password in it."),
    "json5": _Told(Path | None, "Zenoh's own configuration (JSON5), to which the rest is added."),
}


def add_shared(command: Any, words: str) -> None:
    """Give a command the options that it shares with others; those of Zenoh if it connects."""
    names = {param.name for param in command.params}
    added = dict(_OF_ALL)
    if words == "router":
        added |= _zenoh_options("")
    elif "connect" in names:
        added |= _zenoh_options("zenoh_")
    if getattr(command, "commands", None):
        _remember_words(command)
    if "listen" in names:
        added.pop("zenoh_listen", None)
    command.params.extend(param for param in _made(added) if param.name not in names)


def _remember_words(group: Any) -> None:
    """Have a group know what follows it, while its own options are read."""
    parse = group.parse_args

    def parse_args(context: Any, words: list[str]) -> Any:
        context.words = frozenset(words)
        return parse(context, words)

    group.parse_args = parse_args


def _zenoh_options(prefix: str) -> dict[str, _Told]:
    return {
        prefix + name: told._replace(more=told.more | {"callback": _take_zenoh})
        for name, told in _OF_ZENOH.items()
    }


def _made(options: dict[str, _Told]) -> list[Any]:
    """The options as typer makes them of a function's parameters."""

    def asked(**_: Any) -> None:
        """Never called."""

    parameters = []
    for name, (kind, text, more) in options.items():
        flag = f"--{name.replace('_', '-')}"
        flag = f"{flag}/--no-{flag[2:]}" if bool in get_args(kind) else flag
        told = typer.Option(None, flag, help=text, expose_value=False, show_default=False, **more)
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, keyword, default=told, annotation=kind))
    asked.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    asked.__annotations__ = {name: told.kind for name, told in options.items()}
    holder = typer.Typer(add_completion=False)
    holder.command()(asked)
    return list(typer.main.get_command(holder).params)

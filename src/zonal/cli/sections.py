"""`zonal.toml` for commands: which section is whose, and what its keys may be.

A section has the options of its command as keys: `--tls-port` is `tls_port`. `[zenoh]` is for all
commands that join Zenoh, `[logging]` for all. The command line wins, then the command's own
section, then `[zenoh]`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from zonal.errors import ConfigurationError
from zonal.runtime import SettingsFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VARIABLE = "ZONAL_CONFIG"
NAME = "zonal.toml"
_SECTIONS = {"serve": "web", "record": "recorder"}
"""Sections with another name than their command."""
_LOGGING = {"level": "log_level", "format": "log_format"}
_PLACES = frozenset({"data", "log", "lake"})
"""Options that are a folder or an address."""
_NEVER = frozenset({"config", "help", "version"})


def find_file(given: str | None) -> SettingsFile | None:
    """The configuration file: that which is given, or named by the environment, or lies here."""
    named = given if given is not None else os.environ.get(VARIABLE)
    if named:
        return SettingsFile(named)
    if named is None and Path(NAME).is_file():
        return SettingsFile(NAME)
    return None


def section_of(command: str) -> str:
    """The section of a command, by the command's name."""
    return _SECTIONS.get(command, command)


def known_sections(root: Any) -> dict[str, str]:
    """The commands by the names of their sections; `root` is the context of `zonal` itself."""
    return {section_of(name): name for name in root.command.list_commands(root)}


class SectionReader:
    """What a file says for the parameters of one command; what is wrong is gathered in `wrong`.

    Args:
        file: the configuration file.
        section: the command's.
        group: the command that has the section's name: its section has the keys of all below it.
    """

    def __init__(self, file: SettingsFile, section: str, group: Any) -> None:
        self.wrong: list[ConfigurationError] = []
        self._file = file
        self._section = section
        self._known = frozenset(all_keys(group))

    def read(self, context: Any, command: Any) -> dict[str, Any]:
        """The values by the names of the command's parameters."""
        found: dict[str, Any] = {}
        own = keys_of(command)
        for where, read, param in (
            *self._logging(own),
            *(() if self._section == "router" else self._zenoh(own)),
            *self._own(own, command),
        ):
            try:
                value = read()
                if param is not None:
                    found[param.name] = self._taken(context, param, where, value)
            except ConfigurationError as error:
                self.wrong.append(error)
        return found

    def _logging(self, own: dict[str, Any]) -> Iterator[_Reading]:
        for key, value in self._file.section("logging").items():
            where = ("logging", key)
            yield (
                where,
                partial(self._one_of, where, value, _LOGGING),
                own.get(_LOGGING.get(key, "")),
            )

    def _zenoh(self, own: dict[str, Any]) -> Iterator[_Reading]:
        from zonal.session import zenoh_value

        for key in self._file.section("zenoh"):
            param = own.get(f"zenoh_{key}") or (own.get(key) if "connect" in own else None)
            yield ("zenoh", key), partial(zenoh_value, self._file, key), param

    def _own(self, own: dict[str, Any], command: Any) -> Iterator[_Reading]:
        for key, value in self._file.section(self._section).items():
            where = (self._section, key)
            placed = _placed(command, key, value, self._file)
            yield where, partial(self._one_of, where, placed, self._known), own.get(key)

    def _one_of(self, where: tuple[str, str], value: Any, known: Iterable[str]) -> Any:
        if where[1] not in known:
            raise self._file.unknown(where, "key", known)
        return value

    def _taken(self, context: Any, param: Any, where: tuple[str, str], value: Any) -> Any:
        """The value, if the parameter takes it."""
        several = getattr(param, "multiple", False) or param.nargs != 1
        if several and not isinstance(value, list):
            value = [value]
        if said := _wrong_kind(param, value if several else [value]):
            raise self._file.mistake(where, said)
        before, context.default_map = context.default_map, {param.name: value}
        try:
            param.handle_parse_result(context, {}, [])
        except ConfigurationError as error:
            raise self._file.mistake(where, str(error)) from error
        except Exception as error:
            if not hasattr(error, "format_message"):  # typer's own errors have it
                raise
            raise self._file.mistake(where, _reason(error)) from error
        finally:
            context.default_map = before
            context.params.pop(param.name, None)
        return value


_Reading = tuple[tuple[str, str], Callable[[], Any], Any]
"""Where a value stands, how to read it, and the parameter that it is for."""


def wrong_sections(root: Any, file: SettingsFile) -> Iterator[ConfigurationError]:
    """What to say of sections that there are not."""
    known = ("zenoh", "logging", *known_sections(root))
    yield from (
        file.unknown((name,), "section", known) for name in file.sections if name not in known
    )


def defaults_of(context: Any, file: SettingsFile) -> dict[str, Any]:
    """What the file says for a command's parameters, by their names.

    Raises `ConfigurationError` for sections that there are not, and for what is wrong in those that
    the command reads.
    """
    words: list[str] = []
    top = context
    while top.parent is not None:
        words.insert(0, top.info_name)
        top = top.parent
    if not words or words[0] == "config":  # which tells all that is wrong
        return {}
    group = top.command.get_command(top, words[0])
    reader = SectionReader(file, section_of(words[0]), group)
    found = reader.read(context, context.command)
    for wrong in (*wrong_sections(top, file), *reader.wrong):
        raise wrong
    return found


def keys_of(command: Any) -> dict[str, Any]:
    """The parameters of a command by their keys in a file."""
    return {_key(param): param for param in command.params if param.name not in _NEVER}


def all_keys(command: Any) -> Iterator[str]:
    """The keys of a command and of those below it."""
    yield from keys_of(command)
    for inner in getattr(command, "commands", {}).values():
        yield from all_keys(inner)


def _key(param: Any) -> str:
    """A parameter's long option, as in `tls_port`; the name of an argument."""
    flags = [flag for flag in param.opts if flag.startswith("--")]
    return flags[0].removeprefix("--").replace("-", "_") if flags else str(param.name)


def _placed(command: Any, key: str, value: Any, file: SettingsFile) -> Any:
    """The value, if it is a path from where the file is."""
    if key not in _PLACES and not _is_path(command, key):
        return value
    if isinstance(value, list):
        return [file.resolved(each) if isinstance(each, str) else each for each in value]
    return file.resolved(value) if isinstance(value, str) else value


def _is_path(command: Any, key: str) -> bool:
    param = keys_of(command).get(key)
    if param is None:
        return False
    if not param.expose_value:  # ours: `cli.shared`
        from zonal.session import ZENOH_PATHS

        return key.removeprefix("zenoh_") in ZENOH_PATHS
    hint = get_type_hints(inspect.unwrap(command.callback)).get(param.name)
    return "Path" in str(hint)


def _wrong_kind(param: Any, values: list[Any]) -> str | None:
    """What to say of values that TOML tells apart and a command line does not."""
    is_flag = bool(getattr(param, "is_flag", False))
    for each in values:
        if is_flag != isinstance(each, bool):
            return f"must be {'true or false' if is_flag else 'a number or text'}, not {each!r}"
        if isinstance(each, list | dict):
            return f"must be one value, not {each!r}"
    return None


def _reason(error: Any) -> str:
    """What is wrong, without the option that nobody has written."""
    message = str(error.format_message())
    text = message.partition(": ")[2] if message.startswith("Invalid value for") else message
    return text[:1].lower() + text[1:]

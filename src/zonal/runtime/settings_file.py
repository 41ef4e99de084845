"""A configuration file in TOML whose mistakes are told with their line and key."""

from __future__ import annotations

import difflib
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonal.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable


class SettingsFile:
    """Sections of keys and values; paths in it are relative to the folder it is in.

    Raises `ConfigurationError` for a file that cannot be read, is no TOML, or has keys outside of
    sections.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        try:
            self._text = self.path.read_text(encoding="utf-8")
            read = tomllib.loads(self._text)
        except OSError as error:
            raise ConfigurationError(f"cannot read {self.path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"{self.path} is not text in UTF-8") from error
        except tomllib.TOMLDecodeError as error:
            raise ConfigurationError(f"{self.path}: {error}") from error
        self.sections: dict[str, dict[str, Any]] = read
        for name, value in read.items():
            if not isinstance(value, dict):
                raise self.mistake((name,), "stands in no section, such as [zenoh]")

    def section(self, name: str) -> dict[str, Any]:
        """The keys and values of a section; none where it is not there."""
        return self.sections.get(name, {})

    def resolved(self, value: str) -> str:
        """A path of this file, from anywhere; what has a scheme, as in s3://…, stays as it is."""
        if "://" in value:
            return value
        return os.path.normpath(self.path.absolute().parent / Path(value).expanduser())

    def line(self, where: tuple[str, ...]) -> int:
        """The line that a section, or a key of one, begins in."""
        # The longest beginning of the file that can be read and does not have it yet ends there.
        lines = self._text.splitlines(keepends=True)
        found = 1
        for count in range(1, len(lines)):
            try:
                read: Any = tomllib.loads("".join(lines[:count]))
            except tomllib.TOMLDecodeError:
                continue
            if _has(read, where):
                break
            found = count + 1
        return found

    def mistake(self, where: tuple[str, ...], said: str) -> ConfigurationError:
        """What to raise about a section or a key: `zonal.toml, line 3, [broker] port: …`."""
        is_section = isinstance(self.sections[where[0]], dict)
        name = " ".join((f"[{where[0]}]" if is_section else where[0], *where[1:]))
        return ConfigurationError(f"{self.path}, line {self.line(where)}, {name}: {said}")

    def unknown(
        self, where: tuple[str, ...], what: str, known: Iterable[str]
    ) -> ConfigurationError:
        """What to raise about a name that there is not, with the nearest that there is."""
        near = difflib.get_close_matches(where[-1], list(known), 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return self.mistake(where, f"no such {what}{hint}")


def _has(read: Any, where: tuple[str, ...]) -> bool:
    for name in where:
        if not isinstance(read, dict) or name not in read:
            return False
        read = read[name]
    return True

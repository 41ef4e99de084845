"""Port numbers from people: the system's own resolver takes 99999 for 34463."""

from __future__ import annotations

from zonal.errors import ConfigurationError

HIGHEST_PORT = 65_535


def check_port(port: int | str) -> int:
    """The port as a number, if it can be one (0: any free one); else a `ConfigurationError`."""
    text = str(port)
    if not (text.isascii() and text.isdecimal()) or int(text) > HIGHEST_PORT:
        raise ConfigurationError(f"a port is a number from 0 to {HIGHEST_PORT:,}, not {text!r}")
    return int(text)
